import { Socket } from 'node:net';

/**
 * A socket that sends what is written in one turn of the event loop at once. The driver corks and uncorks around every
 * statement, which makes the ten statements of a batch ten system calls, and wakes the server ten times; here they are one.
 */
export class GatheringSocket extends Socket {
  private gathering = false;

  override cork(): void {
    super.cork();
    if (this.gathering) return;
    this.gathering = true;
    super.cork();
    process.nextTick(() => {
      this.gathering = false;
      this.uncork();
    });
  }
}
