// A stand-in for the service that can be killed: opens the embedded database and keeps it.
import { openEmbedded } from '../../src/db/embedded.js';
import { quietLog } from './server.js';

const [dataDir = ''] = process.argv.slice(2);
const { pid } = await openEmbedded({ dataDir, log: quietLog });
process.send?.({ pid: pid() });
