export {
  type AdministerDeps,
  type Administered,
  administer,
  type By,
  factBy,
} from './administer.js';
export { answerAdministered, byOf } from './requests.js';
export { projectsRoutes } from './routes.js';
export { type Found, type LimitBook, Projects } from './service.js';
export {
  advance,
  databaseNow,
  type Head,
  insertProject,
  type KeptAnswer,
  keepAnswers,
  loadDefaultProject,
  loadHead,
  loadKeptAnswers,
  loadProject,
  loadRules,
  MOVED_ON,
} from './store.js';
