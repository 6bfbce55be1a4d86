/** The embedded database cannot be used; the message says what to do. */
export class EmbeddedError extends Error {
  override readonly name = 'EmbeddedError';
}
