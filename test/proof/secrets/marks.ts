import { newKey } from '../../../src/modules/agents/keys.js';

/** What agents write on the board. Letters alone, which no fingerprint takes out of an error. */
export const WORDS = {
  projectName: 'zqprojectname',
  agentName: 'zqagentname',
  runName: 'zqrunname',
  title: 'zqtitle',
  description: 'zqdescription',
  acceptance: 'zqacceptance',
  label: 'zqlabel',
  dedupeKey: 'zqdedupekey',
  search: 'zqsearch',
  result: 'zqresult',
  lateResult: 'zqlateresult',
  errorMessage: 'zqerrormessage',
  errorDetail: 'zqerrordetail',
  note: 'zqnote',
  objection: 'zqobjection',
  finding: 'zqfinding',
  blockReason: 'zqblockreason',
  releaseReason: 'zqreleasereason',
  unblockReason: 'zqunblockreason',
  cancelReason: 'zqcancelreason',
  runReason: 'zqrunreason',
  breakerReason: 'zqbreakerreason',
  retryKey: 'zqretrykey',
  requestId: 'zqrequestid',
} as const;

/** Keys in the form of a key, one for each place where one may stand by mistake. */
export const MISPLACED = {
  path: newKey().token,
  query: newKey().token,
  body: newKey().token,
  content: newKey().token,
  requestId: newKey().token,
  retryKey: newKey().token,
  otherHeader: newKey().token,
  otherScheme: newKey().token,
  unknown: newKey().token,
} as const;

/** A key without its last letter: as one types it off a screen. */
export const CUT_OFF = newKey().token.slice(0, -1);
