/** The rooms in their order: each may use what is to its left, by its door. */
const ROOMS = [
  'events',
  'projects',
  'agents',
  'guard',
  'runs',
  'sessions',
  'tasks',
  'trips',
  'health',
  'skills',
  'performance',
  'webhooks',
  'metrics',
  'dashboard',
  'mcp',
];

/** The pure core: the words, the tables and the decisions of a room. */
const PURE =
  '^src/modules/[^/]+/((types|wire|transitions|decide|evaluate|diagnose|limits|fingerprint|recovery|breaker)\\.ts$|decide/)';
/** All SQL of a room. */
const STORE = '^src/modules/[^/]+/[a-z-]*store(/|\\.ts$)';

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no-circle',
      comment: 'Two files that need each other are one file, or hide a third that both need.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'kernel-stands-alone',
      comment: 'Everyone imports the kernel, so whatever it imported would be everywhere.',
      severity: 'error',
      from: { path: '^src/kernel/' },
      to: { path: '^src/', pathNot: '^src/kernel/' },
    },
    {
      name: 'pure-core',
      comment:
        'The decisions are tested state by state, replayed and simulated. That holds only while they read no ' +
        'clock, no database and no package: they know the kernel and other pure files.',
      severity: 'error',
      from: { path: PURE },
      to: { pathNot: `^src/kernel/|${PURE}` },
    },
    {
      name: 'sql-in-stores',
      comment:
        'All SQL of a room is in its store: there one can see that every statement names the project, and there ' +
        'alone a table can change.',
      severity: 'error',
      from: { pathNot: `^src/db/|${STORE}` },
      to: { path: '^src/db/generated|node_modules/(pg|@prisma)/' },
    },
    {
      name: 'service-knows-no-http',
      comment:
        'Commands also come from the rescuer and from MCP; status codes belong to those who answer HTTP.',
      severity: 'error',
      from: { path: '^src/modules/[^/]+/(service|pipeline|rescuer|executor)(/|\\.ts$)' },
      to: { path: '^src/http/|/(routes|schema|plugin)(/|\\.ts$)|node_modules/(fastify|@fastify)(/|-)' },
    },
    {
      name: 'routes-through-services',
      comment: 'A route that reads the database by itself passes by the guard, the tenancy and the events.',
      severity: 'error',
      from: { path: '^src/modules/[^/]+/routes(/|\\.ts$)' },
      to: { path: `^src/db/|${STORE}|^src/modules/[^/]+/(pipeline|decide|evaluate)(/|\\.ts$)` },
    },
    {
      name: 'rooms-by-their-door',
      comment:
        'What a room does not hand out in index.ts is free to change. Only the words and the pure core may be ' +
        'read directly: they have no state that could be got wrong.',
      severity: 'error',
      from: { path: '^src/modules/([^/]+)/' },
      to: {
        path: '^src/modules/[^/]+/',
        pathNot: `^src/modules/$1/|^src/modules/[^/]+/index\\.ts$|${PURE}`,
      },
    },
    {
      name: 'house-by-the-doors',
      comment: 'The composition root, too, enters a room by its door.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/modules/' },
      to: { path: '^src/modules/', pathNot: '^src/modules/[^/]+/(index|types|wire|limits)\\.ts$' },
    },
    ...ROOMS.slice(0, -1).map((room, index) => ({
      name: `order-${room}`,
      comment:
        'Rooms use rooms to their left, so that each can be understood without those to its right. What a lower ' +
        'room must know from a higher one, it reads in the log.',
      severity: 'error',
      from: { path: `^src/modules/${room}/` },
      to: { path: `^src/modules/(${ROOMS.slice(index + 1).join('|')})/` },
    })),
    {
      name: 'known-room',
      comment: 'A new room needs a place in the order: add it to the list at the top of this file.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/modules/[^/]+/', pathNot: `^src/modules/(${ROOMS.join('|')})/` },
    },
    {
      name: 'http-knows-no-room',
      comment: 'What cuts across all rooms must not depend on one of them.',
      severity: 'error',
      from: { path: '^src/http/' },
      to: { path: '^src/modules/' },
    },
    {
      name: 'db-knows-no-room',
      comment: 'The database code serves every room and the tests; it carries no rule of the board.',
      severity: 'error',
      from: { path: '^src/db/' },
      to: { path: '^src/(modules|http)/' },
    },
    {
      name: 'cli-speaks-http',
      comment: 'The command line is a client like any other: what it can do, everyone can do by HTTP.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: { path: '^src/', pathNot: '^src/(cli|kernel)/' },
    },
    {
      name: 'nothing-imports-main',
      comment: 'main.ts starts the service when it is imported.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^src/main\\.ts$' },
    },
    {
      name: 'resolvable',
      comment: 'An import that leads nowhere hides from every rule above.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'no-dev-dependency',
      comment: 'An installation without development dependencies would not start.',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules|^src/db/generated/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
  },
};
