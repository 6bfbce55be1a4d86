/**
 * What two failures of one cause have in common: the message without the parts that differ each time (ids, numbers, paths,
 * quoted values, times), in lower case, at most 200 characters. Pure text; stable across versions, because fingerprints are
 * stored and compared.
 */
export function fingerprintOf(errorClass: string, message: string): string {
  const core = message
    .slice(0, 2000)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi, '<id>')
    .replace(/\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?/g, '<time>')
    .replace(/\b[a-z][a-z0-9+.-]*:\/\/\S+/gi, '<url>')
    .replace(/(?:[A-Za-z]:)?(?:[\\/][\w.@+-]+){2,}/g, '<path>')
    .replace(/\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, '<id>')
    .replace(/\d+/g, '<n>')
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .slice(0, 200);
  return `${errorClass}: ${core}`;
}
