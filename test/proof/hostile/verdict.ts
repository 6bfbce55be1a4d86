import { PROBLEMS } from '../../../src/http/problem.js';
import { REFUSAL_CODES } from '../../../src/kernel/refusal.js';
import { codesOf } from './codes.js';
import { OPERATIONS, type Operation, wrongWithProblem } from './contract.js';
import { FOREIGN_MARK } from './foreign.js';
import type { Concrete } from './resolve.js';
import { isRecord, type Kind, Ref, type Template } from './template.js';
import { bytesOf, type RawRequest, type Reply } from './wire.js';

/** A request, how it was meant, and what came back. */
export interface Exchange {
  readonly kind: Kind;
  readonly template: Template;
  readonly meant: Concrete;
  readonly sent: RawRequest;
  readonly reply: Reply;
}

const PATHS = OPERATIONS.map((operation) => ({
  operation,
  pattern: new RegExp(`^${operation.path.replace(/\{\w+\}/g, '[^/]+')}$`),
})).sort((one, other) => one.operation.path.split('{').length - other.operation.path.split('{').length);

/** The operation that a request leads to, however it came to be. */
function operationAt({ method, target }: RawRequest): Operation | null {
  const path = target.replace(/[?#].*/s, '');
  const found = PATHS.find(({ operation, pattern }) => operation.method === method && pattern.test(path));
  return found?.operation ?? null;
}

const UUIDS = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;

/** What an answer has of the other project that its request had not. */
function leaked({ sent, reply }: Exchange, foreign: ReadonlySet<string>): string | null {
  const answer = `${[...reply.headers.values()].join('\n')}\n${reply.body}`;
  const said = bytesOf(sent).toString('latin1').toLowerCase();
  if (answer.includes(FOREIGN_MARK) && !said.includes(FOREIGN_MARK)) return FOREIGN_MARK;
  for (const [id] of answer.matchAll(UUIDS)) if (foreign.has(id) && !said.includes(id)) return id;
  return null;
}

function mediaType(reply: Reply): string | null {
  return reply.headers.get('content-type')?.split(';')[0]?.trim() ?? null;
}

/** What is wrong with a refusal, whatever it refuses. */
function wrongWithRefusal({ sent, reply }: Exchange, operation: Operation | null): string[] {
  const type = mediaType(reply);
  if (type !== 'application/problem+json') return [`a refusal as ${type}`];
  // Whoever asks with HEAD gets no body.
  if (sent.method === 'HEAD' && reply.body === '') return [];
  const schema = wrongWithProblem(reply.body);
  if (schema !== null) return [`no problem document: ${schema}`];
  const { code, status, request_id } = JSON.parse(reply.body);
  const known = REFUSAL_CODES.find((one) => one === code);
  if (known === undefined) return [`a code that is none: ${code}`];
  const faults: string[] = [];
  if (PROBLEMS[known].status !== reply.status || status !== reply.status)
    faults.push(`${code} with status ${reply.status}, which says ${status}`);
  if (request_id !== reply.headers.get('x-request-id')) faults.push('two request ids');
  if (reply.status === 503 && !reply.headers.has('retry-after')) faults.push('503 without Retry-After');
  if (operation !== null && !codesOf(operation.id, operation.method).has(code))
    faults.push(`${operation.id} is not known to be refused as ${code}`);
  return faults;
}

/** The refusals that say nothing of an object; the last two come before it is looked for. */
const UNSEEN: ReadonlySet<string> = new Set(['not_found', 'forbidden_role', 'idempotency_key_reused']);

/** Whoever sent something wrong is told where. */
const POINTED = /"errors":\[\{"pointer":/;

/** Only words say what goes together in their bodies. */
const IN_WORDS: ReadonlySet<string> = new Set(['recover_trip', 'recover_run', 'create_plan', 'unblock_task']);

/** What a request that was made as described, or with one thing wrong, must not be answered. */
function wrongWithOutcome({ kind, template, meant, reply }: Exchange): string[] {
  if (kind === 'wild') return [];
  const faults: string[] = [];
  const status = reply.status ?? 0;
  const succeeded = status < 300;
  if (template.sender.who === 'shut out' && succeeded) faults.push('served without a key');
  const foreign = Object.values(template.path).some(
    (value) => value instanceof Ref && value.whose === 'other',
  );
  if (foreign && !UNSEEN.has(codeIn(reply))) faults.push(`${status} for an object of the other project`);
  if (meant.body !== undefined && !template.operation.fits(meant.body) && succeeded)
    faults.push('carried out with a body that is not as described');
  if (codeIn(reply) === 'invalid_request' && !POINTED.test(reply.body))
    faults.push('no pointer to what is wrong');
  const malformed = [400, 413, 414, 415, 428, 431].includes(status);
  if (kind === 'valid' && malformed && !IN_WORDS.has(template.operation.id))
    faults.push(`${status} for a request that is as described`);
  return faults;
}

/** Everything that is wrong with an answer. */
export function faultsOf(exchange: Exchange, foreign: ReadonlySet<string>): string[] {
  const { sent, reply } = exchange;
  const { status, ended } = reply;
  if (ended === 'late') return ['no answer in time'];
  // Whoever hangs up, or ends in the middle, may be left without.
  if (status === null) return ended === 'hung up' || sent.cutOff === true ? [] : [`no answer: ${ended}`];
  const operation = operationAt(sent);
  const faults = wrongWithOutcome(exchange);
  const leak = leaked(exchange, foreign);
  if (leak !== null) faults.push(`tells of the other project: ${leak}`);
  if (status >= 500 && status !== 503) faults.push(`status ${status}`);
  if (!reply.headers.has('x-request-id')) faults.push('no X-Request-Id');
  if (status >= 400) faults.push(...wrongWithRefusal(exchange, operation));
  else if (operation !== null && ended === 'whole') {
    const wrong = operation.wrongWith(status, mediaType(reply), reply.body);
    if (wrong !== null) faults.push(wrong);
  }
  return faults;
}

/** The code of a refusal. */
export function codeIn({ body }: Reply): string {
  if (!body.startsWith('{')) return '';
  const answer: unknown = JSON.parse(body);
  return isRecord(answer) && typeof answer.code === 'string' ? answer.code : '';
}
