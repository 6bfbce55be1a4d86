/** How many times as much as usual: `npm run test:soak` looks longer for what is rare. */
export const SOAK = process.env.FUSEBOARD_TEST_SOAK === undefined ? 1 : 20;
