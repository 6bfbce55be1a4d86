import type { FastifyError, FastifyRequest } from 'fastify';
import { isDatabaseUnavailable } from '../db/faults.js';
import type { InputError, Refusal, RefusalCode } from '../kernel/refusal.js';

/**
 * Carries a refusal through the places where Fastify takes only errors: body parsers and validators. The stack is not
 * recorded, because bad input is no fault of the code and must be cheap to refuse.
 */
export class RefusedRequest extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    super(refusal.detail);
    Error.stackTraceLimit = limit;
    this.name = 'RefusedRequest';
    this.refusal = refusal;
  }
}

/** The refusal of input with these faults. */
export function invalidInput(errors: readonly InputError[]): Refusal {
  const shown = errors
    .slice(0, 3)
    .map((error) => `${error.pointer === '' ? 'body' : error.pointer}: ${error.detail}`);
  const more = errors.length > shown.length ? ` And ${errors.length - shown.length} more, see errors.` : '';
  return { code: 'invalid_request', detail: `${shown.join(' ')}${more}`, errors };
}

/** Fastify's own errors that are expected answers. */
const FRAMEWORK: Readonly<Record<string, { code: RefusalCode; detail: string }>> = {
  FST_ERR_BAD_URL: {
    code: 'invalid_request',
    detail:
      'The address is not a valid URL: a percent sign must be followed by the two hex digits of UTF-8 bytes.',
  },
  FST_ERR_MAX_PARAM_LENGTH: {
    code: 'uri_too_long',
    detail: 'One part of the address is too long to be an id.',
  },
  FST_ERR_CTP_BODY_TOO_LARGE: { code: 'too_large', detail: 'The body is larger than this call takes.' },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_media_type',
    detail: 'The body must be JSON, sent with Content-Type: application/json.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'invalid_request',
    detail: 'The body has not the length that Content-Length announced.',
  },
  FST_ERR_NOT_FOUND: { code: 'not_found', detail: 'There is nothing at this address.' },
  FST_ERR_HANDLER_TIMEOUT: { code: 'overloaded', detail: 'The server could not answer in time. Try again.' },
};

const UNEXPECTED: Refusal = {
  code: 'internal_error',
  detail: 'Something broke in the server. It has been logged under the request_id.',
};

const CUT_OFF: Refusal = {
  code: 'invalid_request',
  detail: 'The request was cut off before its body had arrived.',
};

/** What an error thrown on the way of a request means to its caller, and whether it is a fault worth logging. */
export function refusalOf(
  error: FastifyError | Error,
  request: FastifyRequest,
): { refusal: Refusal; fault: boolean } {
  if (error instanceof RefusedRequest) return { refusal: error.refusal, fault: false };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = FRAMEWORK[code];
  if (known !== undefined) return { refusal: known, fault: false };
  // A client that hangs up looks like a lost database connection (ECONNRESET), and nobody reads the answer.
  if (request.raw.destroyed && !request.raw.complete) return { refusal: CUT_OFF, fault: false };
  const status = 'statusCode' in error ? Number(error.statusCode) : 0;
  if (status >= 400 && status < 500) return { refusal: clientFault(status), fault: false };
  if (isDatabaseUnavailable(error)) {
    const detail =
      'The database cannot be reached at the moment. Nothing is lost; send the same request again.';
    return { refusal: { code: 'database_unavailable', detail }, fault: true };
  }
  return { refusal: UNEXPECTED, fault: true };
}

function clientFault(status: number): Refusal {
  if (status === 404) return { code: 'not_found', detail: 'There is nothing at this address.' };
  return { code: 'invalid_request', detail: 'The request could not be understood.' };
}
