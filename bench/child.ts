import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { openSync } from 'node:fs';

/** The processes of this run that have not ended. */
const running = new Set<ChildProcess>();

interface ChildOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly execArgv?: readonly string[];
  /** Where its output goes; without it, to the terminal. */
  readonly logFile?: string;
}

/** A Node process of its own, with a channel to this one. */
export class Child {
  private readonly process: ChildProcess;

  constructor(
    private readonly name: string,
    file: string,
    { env = {}, execArgv = [], logFile }: ChildOptions = {},
  ) {
    const output = logFile === undefined ? 'inherit' : openSync(logFile, 'a');
    // Nothing of the caller's settings reaches what is measured.
    const { PATH = '', HOME = '' } = process.env;
    this.process = fork(file, [], {
      env: { PATH, HOME, ...env },
      execArgv: [...execArgv],
      stdio: ['ignore', output, output, 'ipc'],
    });
    running.add(this.process);
    this.process.once('exit', () => running.delete(this.process));
  }

  get pid(): number {
    const { pid } = this.process;
    if (pid === undefined) throw new Error(`${this.name} was not started`);
    return pid;
  }

  get hasEnded(): boolean {
    return !running.has(this.process);
  }

  /** The next thing the child says, optionally in answer to something. */
  hear<Said>(question?: object): Promise<Said> {
    return new Promise((resolve, reject) => {
      const ended = (code: number | null, signal: string | null): void =>
        reject(new Error(`${this.name} ended before it answered: ${signal ?? code}`));
      this.process.once('exit', ended);
      this.process.once('message', (said: Said) => {
        this.process.off('exit', ended);
        resolve(said);
      });
      if (question !== undefined) this.process.send(question);
    });
  }

  async stop(): Promise<void> {
    if (this.hasEnded) return;
    const exit = once(this.process, 'exit');
    this.process.kill('SIGTERM');
    const timer = setTimeout(() => this.process.kill('SIGKILL'), 15_000);
    await exit;
    clearTimeout(timer);
  }
}

// However this process ends, nothing of it goes on.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Ends whatever was left running. */
export async function endChildren(): Promise<void> {
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...running].map((child) => once(child, 'exit')));
}
