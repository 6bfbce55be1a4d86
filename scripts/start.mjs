import { prepareAndBuild } from './prepare.mjs';

prepareAndBuild();
// In this process, so that every signal reaches the service itself.
await import('../dist/main.js');
