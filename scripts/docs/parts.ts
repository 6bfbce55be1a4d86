import { describeApi } from '../../src/app.js';
import { callTable } from './api.js';
import { configurationTables } from './configuration.js';
import { problemTable } from './errors.js';
import { eventTable } from './events.js';
import { layerTable, limitTable, severityTable } from './guard.js';
import { invariantTable } from './invariants.js';
import { machineDiagram, machineTable } from './state-machine.js';

/** Every generated part of the documentation, by its name. */
export async function parts(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['calls', callTable(await describeApi())],
    ['configuration', configurationTables()],
    ['events', eventTable()],
    ['invariants', invariantTable()],
    ['layers', layerTable()],
    ['limits', limitTable()],
    ['machine-diagram', machineDiagram()],
    ['machine-table', machineTable()],
    ['problems', problemTable()],
    ['severities', severityTable()],
  ]);
}
