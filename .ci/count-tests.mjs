// Prints how many tests passed and failed: node count-tests.mjs REPORT EXIT_CODE
import { readFileSync } from 'node:fs';

const [report = '', exitCode] = process.argv.slice(2);
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(report, 'utf8'));
// A file that does not even load, or an error outside of a test, fails the run and counts as no test.
const failed = numFailedTests === 0 && exitCode !== '0' ? 1 : numFailedTests;
process.stdout.write(`${numPassedTests} ${failed}\n`);
