/** From this version on, up to but not including that one. */
export type Range = readonly [from: string, fixed: string];

/** A known weakness of a package: its id, and for each line of versions the first that is free of it. */
export interface Advisory {
  readonly id: string;
  readonly affected: readonly Range[];
}

const upTo = (fixed: string): Range => ['0.0.0', fixed];

function advisory(id: string, ...affected: Range[]): Advisory {
  return { id, affected };
}

/** The oldest version of each that is taken at all, by the line of its major version. */
export const FLOORS: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  fastify: { 5: '5.12.8' },
  '@fastify/static': { 10: '10.1.11' },
  ajv: { 8: '8.20.0' },
  'fast-uri': { 3: '3.1.9', 4: '4.2.4' },
  undici: { 7: '7.30.2' },
};

/** What is known, by package. Only what its advisory, or the release that fixed it, states. */
export const ADVISORIES: Readonly<Record<string, readonly Advisory[]>> = {
  fastify: [
    advisory('GHSA-mg2h-6x62-wpwc', ['4.29.0', '4.29.1'], ['5.0.0', '5.3.2']),
    advisory('GHSA-jx2c-rxcm-jvmq', upTo('5.7.2')),
    advisory('GHSA-mrq3-vjjr-p77c', upTo('5.7.3')),
    advisory('GHSA-573f-x89g-hqp9', upTo('5.8.1')),
    advisory('GHSA-444r-cwp2-x5xf', upTo('5.8.3')),
    advisory('GHSA-247c-9743-5963', ['5.3.2', '5.8.5']),
  ],
  '@fastify/static': [
    advisory('GHSA-x428-ghpx-8j92', ['8.0.0', '9.1.1']),
    advisory('CVE-2026-15074', upTo('10.1.1')),
  ],
  'fast-uri': [
    advisory('GHSA-q3j6-qgpj-74h6', upTo('2.4.1'), ['3.0.0', '3.1.1']),
    advisory('GHSA-v39h-62p7-jpjc', upTo('2.4.1'), ['3.0.0', '3.1.2']),
    advisory('GHSA-f65p-4m7j-42xc', ['3.0.0', '3.1.6']),
    advisory('GHSA-jqff-g426-hqxp', ['3.0.0', '3.1.6']),
    advisory('GHSA-fph4-wmhf-6fwf', ['3.0.0', '3.1.6']),
    advisory('GHSA-5jgf-p345-68v8', ['3.0.0', '3.1.6']),
    advisory('CVE-2026-84292', ['3.0.0', '3.1.7']),
    advisory('CVE-2026-84394', ['3.0.0', '3.1.7']),
  ],
  'find-my-way': [advisory('GHSA-rrr8-f88r-h8q6', ['5.5.0', '8.2.2'], ['9.0.0', '9.0.1'])],
  ajv: [advisory('GHSA-2g4f-4pwh-qvx6', upTo('6.14.0'), ['7.0.0', '8.18.0'])],
  cookie: [advisory('GHSA-pxg6-pf52-xh8x', upTo('0.7.0'))],
  'brace-expansion': [
    advisory(
      'GHSA-v6h2-p8h4-qcjw',
      upTo('1.1.12'),
      ['2.0.0', '2.0.2'],
      ['3.0.0', '3.0.1'],
      ['4.0.0', '4.0.1'],
    ),
    advisory('GHSA-3jxr-9vmj-r5cp', upTo('1.1.16'), ['2.0.0', '2.1.2'], ['3.0.0', '5.0.7']),
    advisory('GHSA-mh99-v99m-4gvg', upTo('1.1.17'), ['2.0.0', '2.1.3'], ['4.0.0', '5.0.8']),
    advisory('GHSA-rgw5-rvv9-x895', upTo('1.1.18'), ['4.0.0', '5.0.9']),
  ],
  minimatch: [
    advisory(
      'GHSA-3ppc-4f35-3m26',
      upTo('3.1.3'),
      ['4.0.0', '4.2.4'],
      ['5.0.0', '5.1.7'],
      ['6.0.0', '6.2.1'],
      ['7.0.0', '7.4.7'],
      ['8.0.0', '8.0.5'],
      ['9.0.0', '9.0.6'],
      ['10.0.0', '10.2.1'],
    ),
  ],
  glob: [advisory('GHSA-5j98-mcp5-4vw2', ['10.2.0', '10.5.0'], ['11.0.0', '11.1.0'])],
  picomatch: [advisory('GHSA-c2c7-rcm5-vvqj', upTo('2.3.2'), ['3.0.0', '3.0.2'], ['4.0.0', '4.0.4'])],
  braces: [advisory('GHSA-grv7-fg5c-xmjg', upTo('3.0.3'))],
  micromatch: [advisory('GHSA-952p-6rrq-rcjv', upTo('4.0.8'))],
  qs: [
    advisory('GHSA-6rw7-vpxm-498p', upTo('6.14.1')),
    advisory('GHSA-w7fw-mjwx-w883', ['6.7.0', '6.14.2']),
    advisory('GHSA-x5fp-wj9c-mxmx', upTo('6.16.0')),
  ],
  'form-data': [
    advisory('GHSA-fjxv-7rqg-78g4', upTo('2.5.4'), ['3.0.0', '3.0.4'], ['4.0.0', '4.0.4']),
    advisory('GHSA-hmw2-7cc7-3qxx', upTo('2.5.6'), ['3.0.0', '3.0.5'], ['4.0.0', '4.0.6']),
  ],
  formidable: [advisory('GHSA-75v8-2h7p-7m2m', ['3.1.1', '3.5.3'])],
  yaml: [advisory('GHSA-48c2-rrv3-qjmp', upTo('1.10.3'), ['2.0.0', '2.8.3'])],
  'js-yaml': [
    advisory('GHSA-mh29-5h37-fv8m', upTo('3.14.2'), ['4.0.0', '4.1.1']),
    advisory('GHSA-h67p-54hq-rp68', upTo('3.15.0'), ['4.0.0', '4.2.0']),
    advisory('GHSA-52cp-r559-cp3m', ['4.0.0', '4.3.0']),
    advisory('CVE-2026-84375', upTo('3.15.2'), ['4.0.0', '4.3.2']),
  ],
  lodash: [
    advisory('GHSA-xxjr-mmjv-4gpg', upTo('4.17.23')),
    advisory('GHSA-f23m-r3pf-42rh', upTo('4.18.0')),
    advisory('CVE-2026-4800', upTo('4.18.0')),
  ],
  postcss: [advisory('GHSA-qx2v-qp2m-jg93', upTo('8.5.10'))],
  nanoid: [advisory('GHSA-2v37-7h3g-55p8', upTo('3.3.18'))],
  vite: [
    advisory('GHSA-p9ff-h696-f583', ['7.0.0', '7.3.2']),
    advisory('GHSA-fx2h-pf6j-xcff', ['7.0.0', '7.3.5'], ['8.0.0', '8.0.16']),
  ],
  vitest: [advisory('GHSA-9crc-q9x8-hgqq', upTo('1.6.1'), ['2.0.0', '2.1.9'], ['3.0.0', '3.0.5'])],
  esbuild: [
    advisory('GHSA-67mh-4wv8-2f99', upTo('0.25.0')),
    advisory('GHSA-gv7w-rqvm-qjhr', upTo('0.28.1')),
    advisory('GHSA-g7r4-m6w7-qqqr', upTo('0.28.1')),
  ],
  semver: [advisory('GHSA-c2qf-rxjj-qqgw', upTo('5.7.2'), ['6.0.0', '6.3.1'], ['7.0.0', '7.5.2'])],
  'cross-spawn': [advisory('GHSA-3xgq-45jj-v275', upTo('6.0.6'), ['7.0.0', '7.0.5'])],
  json5: [advisory('GHSA-9c47-m6qq-7p4h', upTo('1.0.2'), ['2.0.0', '2.2.2'])],
  minimist: [advisory('GHSA-xvch-5gv4-984h', ['1.0.0', '1.2.6'])],
  // This one release was not its maintainer's.
  debug: [advisory('GHSA-8mgj-vmr8-frr6', ['4.4.2', '4.4.3'])],
  'deepmerge-ts': [advisory('GHSA-ggr8-5vv4-36mx', upTo('8.0.0'))],
  mysql2: [advisory('GHSA-3f6p-5ww8-9rcr', upTo('3.22.0')), advisory('GHSA-rgwj-5xj2-c3m3', upTo('3.23.1'))],
};

/**
 * What is known and stays, each with its reason: never in what is shipped, and only while nothing else can be had. Whatever
 * of it is no longer needed must go from here.
 */
export const TOLERATED: Readonly<Record<string, string>> = {};
