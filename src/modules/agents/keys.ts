import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { KEY_LENGTHS } from '../../kernel/key-form.js';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const FORM = new RegExp(
  `^(fb_([0-9A-Za-z]{${KEY_LENGTHS.id}})_[0-9A-Za-z]{${KEY_LENGTHS.secret}})([0-9A-Za-z]{${KEY_LENGTHS.checksum}})$`,
);

/** A key at the one moment when it is known: its public id, the key itself, and the hash that is stored. */
export interface NewKey {
  readonly id: string;
  readonly token: string;
  readonly hash: Buffer;
}

function randomText(length: number): string {
  // randomInt draws again what would favour some characters.
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function checksumOf(text: string): string {
  let rest = crc32(text);
  let checksum = '';
  for (let i = 0; i < KEY_LENGTHS.checksum; i++) {
    checksum = `${ALPHABET[rest % ALPHABET.length]}${checksum}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return checksum;
}

/** Makes a key: `fb_<id>_<secret><checksum>`. */
export function newKey(): NewKey {
  const id = randomText(KEY_LENGTHS.id);
  const body = `fb_${id}_${randomText(KEY_LENGTHS.secret)}`;
  const token = `${body}${checksumOf(body)}`;
  return { id, token, hash: hashOf(token) };
}

/** The id in a key, or null when it is none: a mistyped or cut-off key is told without asking the database. */
export function keyIdOf(token: string): string | null {
  const [, body, id, checksum] = FORM.exec(token) ?? [];
  if (body === undefined || id === undefined) return null;
  return checksumOf(body) === checksum ? id : null;
}

/** What is stored of a key. It has 190 random bits, so that a slow hash would protect nothing more. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
