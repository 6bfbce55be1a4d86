import { register } from 'node:module';

// Imported before the service's own files, in the process of a service that is to run without its guard.

register('./no-guard-hooks.js', import.meta.url);
