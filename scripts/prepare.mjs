// Plain Node, no dependency: this runs before anything is installed.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const OLDEST_NODE = [20, 19];

/**
 * Says one line to the person at the terminal.
 * @param {string} text
 */
function say(text) {
  process.stderr.write(`fuseboard: ${text}\n`);
}

/**
 * Says why it cannot go on, and ends.
 * @param {string} text
 * @returns {never}
 */
function giveUp(text) {
  say(text);
  process.exit(1);
}

/** @param {string[]} path */
function inRoot(...path) {
  return join(ROOT, ...path);
}

/**
 * A hash over the names and contents of files.
 * @param {string[]} paths relative to the root
 */
function hashFiles(paths) {
  const hash = createHash('sha256');
  for (const path of paths) {
    hash.update(`${path}\0`);
    hash.update(readFileSync(inRoot(path)));
  }
  return hash.digest('hex');
}

/**
 * Runs a step unless the stamp that its last run left says that nothing has changed since.
 * @param {{ stamp: string, inputs: string[], saying: string, run: () => void }} step
 */
function unlessDone({ stamp, inputs, saying, run }) {
  const hash = hashFiles(inputs);
  const path = inRoot(stamp);
  if (existsSync(path) && readFileSync(path, 'utf8') === hash) return;
  say(saying);
  run();
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, hash);
}

/**
 * Runs a program of the project; its output is shown only when it fails.
 * @param {string[]} args arguments for node
 * @param {NodeJS.ProcessEnv} [env]
 */
function runNode(args, env = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: ROOT,
    env: { ...process.env, ...env },
    encoding: 'utf8',
  });
  if (status === 0) return;
  process.stderr.write(stdout + stderr);
  giveUp(`${basename(args[0] ?? '')} failed; what it said is above.`);
}

/** Ends with a word of advice on a Node that is too old. */
function checkNode() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  giveUp(
    `this is Node ${process.versions.node}; install Node ${OLDEST_NODE.join('.')} or newer (24 is best).`,
  );
}

/**
 * @typedef {{ version?: string, optional?: boolean, devOptional?: boolean,
 *   devDependencies?: Record<string, string> }} Package
 */

/**
 * @param {string} path
 * @returns {Record<string, Package>}
 */
function readPackages(path) {
  return JSON.parse(readFileSync(path, 'utf8')).packages;
}

/** Whether node_modules has what the lock file asks for, however it came there. */
function isInstalled() {
  const installedPath = inRoot('node_modules', '.package-lock.json');
  if (!existsSync(installedPath)) return false;
  const installed = readPackages(installedPath);
  const wanted = readPackages(inRoot('package-lock.json'));
  const tools = new Set(Object.keys(wanted['']?.devDependencies ?? {}).map((name) => `node_modules/${name}`));
  return Object.entries(wanted).every(
    ([path, { version, optional, devOptional }]) =>
      path === '' ||
      // What is for other platforms is not there, and need not be.
      ((optional || devOptional) && !tools.has(path)) ||
      installed[path]?.version === version,
  );
}

function install() {
  if (isInstalled()) return;
  say('installing the dependencies (the first time this takes a while) ...');
  // The development dependencies build the service, also where NODE_ENV says production. No package's install
  // script is needed, so none is run.
  const args = ['ci', '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const npm = process.env.npm_execpath;
  const options = /** @type {const} */ ({ cwd: ROOT, stdio: ['ignore', 2, 2] });
  const { status, error } =
    npm !== undefined && basename(npm).startsWith('npm-cli')
      ? spawnSync(process.execPath, [npm, ...args], options)
      : spawnSync('npm', args, options);
  if (error !== undefined)
    giveUp(`npm cannot be run (${error.message}); run npm ci yourself, then start again.`);
  if (status !== 0)
    giveUp('npm ci failed; what it said is above. Is the package registry reached from here?');
}

function generate() {
  unlessDone({
    stamp: 'src/db/generated/.stamp',
    inputs: ['prisma/schema.prisma', 'prisma.config.ts', 'package-lock.json'],
    saying: 'generating the database client ...',
    // Prisma wants its schema engine's binary, a download, even for this step that does not use it.
    run: () =>
      runNode(['node_modules/prisma/build/index.js', 'generate'], {
        PRISMA_SCHEMA_ENGINE_BINARY: '/bin/false',
      }),
  });
}

/** @returns {string[]} the sources, without the generated client, which follows from the schema */
function sources() {
  return readdirSync(inRoot('src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith(join('db', 'generated')))
    .map((path) => join('src', path))
    .sort();
}

/** Brings a clone to where its tests can run. */
export function prepare() {
  checkNode();
  install();
  generate();
}

/** Brings a clone to where dist/main.js can run. */
export function prepareAndBuild() {
  prepare();
  unlessDone({
    stamp: 'dist/.stamp',
    inputs: [...sources(), 'prisma/schema.prisma', 'tsconfig.json', 'package-lock.json'],
    saying: 'building ...',
    // Without checking types, which takes most of the time and has been done before anything was published.
    run: () => runNode(['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json', '--noCheck']),
  });
}
