import type { RefusalCode } from '../kernel/refusal.js';

/** What each problem's page says: what it means, who may act, what to do next. */
export const EXPLANATIONS: Readonly<Record<RefusalCode, string>> = {
  invalid_request:
    'A field, a query parameter or a header is missing, unknown or has a wrong value. ' +
    'Each fault is listed in `errors` with a pointer to its place. Correct them and send the request again; ' +
    'sending it unchanged gives the same answer.',
  invalid_json:
    'The body could not be read as JSON in UTF-8. Look for a missing quote, a trailing comma, or a body that was ' +
    'cut off. Send it again once it parses.',
  unauthenticated:
    'The request carries no key, or one that is unknown or revoked. Send `Authorization: Bearer fb_…`. ' +
    'The first start of the server writes a key for each role to `.fuseboard/keys.env`; ' +
    'an operator makes further ones with `POST /v1/agents`.',
  forbidden_role:
    'The key is valid, but its agent has none of the roles this call is for. The answer names the roles that are enough. ' +
    'Let an agent with that role make the call, or ask an operator for a key that has it.',
  self_review:
    'An agent that worked on any attempt of a task may not approve it or send it back, whatever its roles. ' +
    'Leave the verdict to another reviewer. When every reviewer has worked on the task, an operator who has not may judge.',
  escalation_required:
    'The matter has been recovered as often as agents may do it, or it is severe, or a person stopped it. ' +
    'Only an operator may go on from here. An agent should report this and turn to other work; a retry is useless.',
  not_found:
    'There is nothing at this address, or it belongs to a project that your key does not open: the two look the same on purpose. ' +
    'Check the id and its prefix, or read the list it should be in. The calls that exist are at `/docs`.',
  method_not_allowed:
    'The path exists but does not take this method. The `Allow` header lists the ones it does take.',
  invalid_transition:
    'The command does not fit the state the task is in. The answer has the current state and the commands it allows. ' +
    'Read the task again before you decide: somebody else may have moved it on.',
  task_blocked:
    'The task is blocked, by a limit or by an agent that could not go on. The answer says what stopped it, with value and limit. ' +
    'A planner or an operator may unblock it, with a reason and where needed a change. Waiting does not help; take other work.',
  run_tripped:
    'A limit of the run was reached, so no further work starts in it. What is already under way may be handed in. ' +
    'A planner may recover the run, or an operator where the trip says so.',
  run_closed:
    'The run is closed and takes no new tasks and no new work. Choose another run, or leave it out to use the default one.',
  already_claimed:
    'Another agent holds the lease of this task. The answer says who, how long it still runs, and whether the holder was heard of lately. ' +
    'Claim another task, or try again once the lease has ended.',
  lease_lost:
    'Your lease ended, or a later one replaced it, so this call no longer changes the task. ' +
    'What you sent with it is kept beside the attempt as a late result. Stop working on the task and claim anew.',
  verdict_already_recorded:
    'An attempt is judged once, and this one has been. Read the task to see the verdict. ' +
    'A new verdict is possible when the next attempt is submitted.',
  stale_attempt:
    'The call names an attempt that is no longer the latest. Read the task and look at the current attempt before you act on it.',
  dependency_unmet:
    'The task depends on others that are not done. It becomes claimable by itself when they are. ' +
    'The answer names them; claim one of those, or any other task, meanwhile.',
  not_yet_due:
    'The task has a time before which it does not start: planned, or because a fault asked for a pause. ' +
    'Come back at that time, or claim another task.',
  excluded_agent:
    'This task is no longer given to your agent, after a fatal error of it there or by decision of a planner. ' +
    'Others may claim it. Claim other work.',
  agent_breaker_open:
    'Your agent reported that it cannot work, or its faults were all alike, so it gets no work for now. ' +
    'Repair the cause. The breaker admits one probe after its cooldown, or an operator closes it.',
  session_must_clear:
    'The session has done as many tasks as one context should. Hand it off, clear the ' +
    'context, and go on in a new session.',
  duplicate:
    'Something with the same name or key exists and is not finished. The answer has its id. ' +
    'Use that one, or name it in `supersedes` where the call takes that field.',
  isolated:
    'An operator took this breaker, skill or agent out of service by hand. It stays so until an operator closes it. ' +
    'No waiting and no retry ends it.',
  stale_version:
    'The version in `If-Match`, or the expected state, is not the present one: somebody changed the object after you read it. ' +
    'Read it again, look at what changed, and repeat the change with the new `ETag` if you still want it.',
  version_required:
    'This change needs the header `If-Match` with the `ETag` you last read, so that nobody overwrites what they have not seen. ' +
    'Read the object, then send the change with its `ETag`.',
  too_large:
    'The body is larger than one mebibyte. Send less: keep large output in a file or a repository, and put a reference to it into the result.',
  uri_too_long:
    'The address, or one part of it, is longer than the server reads. Shorten the query or the id.',
  unsupported_media_type:
    'Bodies are read as JSON only. Send `Content-Type: application/json`, and no other content encoding.',
  not_acceptable:
    'The `Accept` header asks for a form in which this answer does not exist. Ask for `application/json`, or leave the header out.',
  idempotency_key_reused:
    'The same `Idempotency-Key` came before with another body, so this is not a retry of that call. ' +
    'Use a new key for a new call, and the old key only to repeat exactly what was sent.',
  empty_result:
    'A submit needs a result that says something. Hand in what was done, or use `fail` or `release` when there is nothing.',
  nothing_changed:
    'The same task or run tripped before and was recovered without a lasting effect. Before it starts again something has to be different: ' +
    'its description, acceptance criteria, limits, dependencies or agent. Give the change with the recovery, or make it first.',
  still_over_limit:
    'After this recovery at least one limit would still be exceeded, and the next step would trip at once. ' +
    'The answer names the limit. Raise it, or reset the counter where the call allows that.',
  dependency_cycle:
    'The tasks would wait for each other in a circle and none could ever start. The answer names the circle; leave one of its links out.',
  request_timeout:
    'The request did not arrive completely in the time it is given, so the connection was closed. ' +
    'Send it again in one go. Nothing was changed.',
  headers_too_large: 'The headers together exceed what the server reads. Send fewer or shorter ones.',
  rate_limited:
    'The key has used up what it may ask in a minute, of requests or of created tasks. `Retry-After` says when there is room again, ' +
    'and the `RateLimit` header how much is left. An agent that waits for work should wait in the call, with `Prefer: wait=20`.',
  fleet_breaker_open:
    'Several agents failed in the same way within a short time, so no work is handed out until the cause is gone. ' +
    'After the pause one probe is admitted; its success ends the pause. An operator may look at `GET /v1/breakers`.',
  database_unavailable:
    'The server is up but cannot reach its database at the moment. Wait as long as `Retry-After` says and send the same request again. ' +
    'With an `Idempotency-Key` a repeated command takes effect once, even if the first one had got through.',
  overloaded:
    'The server has more to do than it can, or it is about to stop. Wait as long as `Retry-After` says and try again.',
  internal_error:
    'The server met a fault that it did not expect. It is logged under the `request_id` of the answer; give that to the operator. ' +
    'Trying once more may help, with the same `Idempotency-Key` if the call had one.',
};
