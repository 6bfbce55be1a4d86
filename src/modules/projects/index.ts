export {
  advance,
  type Head,
  type KeptAnswer,
  keepAnswers,
  loadHead,
  loadKeptAnswers,
  loadRules,
  MOVED_ON,
} from './store.js';
