/** One entry of an Accept header. */
interface Wish {
  readonly type: string;
  readonly quality: number;
}

function parseWishes(header: string): Wish[] {
  return header.split(',').map((part) => {
    const [type = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase());
    const quality = parameters.find((parameter) => parameter.startsWith('q='));
    return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0 };
  });
}

function qualityOf(offer: string, wishes: readonly Wish[]): number {
  const family = `${offer.slice(0, offer.indexOf('/'))}/*`;
  for (const type of [offer, family, '*/*']) {
    const wish = wishes.find((candidate) => candidate.type === type);
    if (wish !== undefined) return wish.quality;
  }
  return 0;
}

/**
 * The offered media type that an Accept header likes best; of equals the first offered, and that too when there is no
 * header. Null when it takes none of them.
 */
export function preferredType<T extends string>(header: string | undefined, offers: readonly T[]): T | null {
  if (header === undefined || header.trim() === '') return offers[0] ?? null;
  const wishes = parseWishes(header);
  let best: T | null = null;
  let bestQuality = 0;
  for (const offer of offers) {
    const quality = qualityOf(offer, wishes);
    if (quality > bestQuality) [best, bestQuality] = [offer, quality];
  }
  return best;
}
