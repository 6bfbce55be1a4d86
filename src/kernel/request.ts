/** What ties an event and a log line to the request that caused them. */
export interface RequestContext {
  readonly requestId: string;
  /** The trace id of W3C `traceparent`, 32 hex digits. */
  readonly traceId: string;
}

/** A retry key as the caller gave it, bound to what it was given for. */
export interface Idempotency {
  readonly key: string;
  /** Method and route pattern: a key means nothing on another route. */
  readonly route: string;
  /** SHA-256 of path and body, hex. The same key with another hash is refused. */
  readonly requestHash: string;
}
