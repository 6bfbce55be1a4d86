export { loadRoster } from './store.js';
