/** How long the parts of a key are: `fb_<id>_<secret><checksum>`. */
export const KEY_LENGTHS = { id: 16, secret: 32, checksum: 6 } as const;

const LETTER = '[0-9A-Za-z]';
const KEY = new RegExp(
  `fb_${LETTER}{${KEY_LENGTHS.id}}_${LETTER}{${KEY_LENGTHS.secret + KEY_LENGTHS.checksum}}`,
);

/** Whether a text holds what has the form of a key, in force or not. */
export function holdsKey(text: string): boolean {
  return KEY.test(text);
}
