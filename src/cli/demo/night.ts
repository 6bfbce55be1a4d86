/** One task of the night: what it asked for, what it kept getting, and how often it came back. */
export interface NightTask {
  readonly title: string;
  readonly description: string;
  readonly acceptance: readonly string[];
  /** What the executor hands in, every time. */
  readonly result: string;
  /** What the reviewer answers, every time, and the criterion it points at. */
  readonly complaint: string;
  readonly criterion: number;
  /** How often it was sent back that night; null for a task that is not of the night. */
  readonly reworks: number | null;
  /** The number is on record. Of the others the record only says: two digits. */
  readonly recorded: boolean;
}

/** The least that two digits can be: what a task is taken to have had when the record names no number. */
export const AT_LEAST = 10;

/** Three tasks have their number on record. The other four are made up around the fact that each had two digits. */
const NIGHT: readonly NightTask[] = [
  {
    title: 'Run the AI analysis',
    description: 'Summarise what the posts of the week are about.',
    acceptance: ['every topic names three posts as evidence'],
    result: 'Nine topics; two of them name a single post.',
    complaint: 'Two topics have no three posts as evidence.',
    criterion: 0,
    reworks: 16,
    recorded: true,
  },
  {
    title: 'Crawl the feed',
    description: 'Fetch posts from the feed and store them.',
    acceptance: ['50 posts are stored', 'no post is stored twice'],
    result: 'The feed gave 20 posts; all are stored.',
    complaint: 'Asked for 50 posts, found 20.',
    criterion: 0,
    reworks: 14,
    recorded: true,
  },
  {
    title: 'Deploy the site',
    description: 'Put the new version in front of its users.',
    acceptance: ['the site answers under its public name'],
    result: 'The container runs; the public name times out.',
    complaint: 'The public name does not answer.',
    criterion: 0,
    reworks: 12,
    recorded: true,
  },
  {
    title: 'Set up the web project',
    description: 'Start the web project from its template.',
    acceptance: ['the project builds without a question'],
    result: 'The generator asked a question and got no answer.',
    complaint: 'There is nothing to build.',
    criterion: 0,
    reworks: AT_LEAST,
    recorded: false,
  },
  {
    title: 'Create the database user',
    description: 'The site needs a database user of its own.',
    acceptance: ['the site can log in to its database'],
    result: 'The user exists and has a password.',
    complaint: 'The login is refused.',
    criterion: 0,
    reworks: AT_LEAST,
    recorded: false,
  },
  {
    title: 'Collect the post links',
    description: 'Read the link of each post from its page.',
    acceptance: ['every stored post has a link'],
    result: 'Links for the posts whose pages loaded.',
    complaint: 'Some posts have no link.',
    criterion: 0,
    reworks: AT_LEAST,
    recorded: false,
  },
  {
    title: 'Write the weekly report',
    description: 'One page about the week, from the analysis.',
    acceptance: ['the report quotes the analysis'],
    result: 'A report without the analysis, which is not there yet.',
    complaint: 'The analysis is not quoted.',
    criterion: 0,
    reworks: AT_LEAST,
    recorded: false,
  },
];

/** As many tasks as asked for: those of the night first, then more of their kind. */
export function nightTasks(count: number): NightTask[] {
  return Array.from({ length: count }, (_, index) => NIGHT[index] ?? another(index + 1));
}

function another(number: number): NightTask {
  return {
    title: `One more task, number ${number}`,
    description: 'A task that the night did not have.',
    acceptance: ['the reviewer is content'],
    result: 'The same as last time.',
    complaint: 'The same as last time.',
    criterion: 0,
    reworks: null,
    recorded: false,
  };
}

/** How many tasks the night had. */
export const NIGHT_SIZE = NIGHT.length;
