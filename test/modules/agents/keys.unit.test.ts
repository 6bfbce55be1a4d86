import fc from 'fast-check';
import { expect, it } from 'vitest';
import { holdsKey } from '../../../src/kernel/key-form.js';
import { hashOf, keyIdOf, newKey } from '../../../src/modules/agents/keys.js';

it('a key has a public id, a secret and a checksum', () => {
  const { id, token, hash } = newKey();
  expect(token).toMatch(/^fb_[0-9A-Za-z]{16}_[0-9A-Za-z]{38}$/);
  expect(keyIdOf(token)).toBe(id);
  expect(hash).toEqual(hashOf(token));
});

it('a key is found in the middle of a text', () => {
  const { id, token } = newKey();
  expect(holdsKey(`curl -H "Authorization: Bearer ${token}"`)).toBe(true);
  expect(holdsKey(`fb_${id}`)).toBe(false);
});

it('no two keys are alike', () => {
  const tokens = Array.from({ length: 1000 }, () => newKey().token);
  expect(new Set(tokens).size).toBe(1000);
});

it('a key with one wrong character is no key', () => {
  const characters = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'];
  fc.assert(
    fc.property(fc.nat(56), fc.constantFrom(...characters), (at, character) => {
      const { token } = newKey();
      fc.pre(token[at] !== character);
      expect(keyIdOf(token.slice(0, at) + character + token.slice(at + 1))).toBeNull();
    }),
  );
});

it.each(['', 'fb_', 'fb_planner', 'Bearer x', `${newKey().token} `, newKey().token.slice(0, -1)])(
  '%j is no key',
  (text) => {
    expect(keyIdOf(text)).toBeNull();
  },
);
