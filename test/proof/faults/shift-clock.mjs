// Loaded before the service: its parent moves the machine's time, as this process sees it, by a message.
const RealDate = Date;
let shiftMs = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args) =>
    args.length === 0 ? new target(target.now() + shiftMs) : Reflect.construct(target, args),
  apply: (target) => new target(target.now() + shiftMs).toString(),
  get: (target, name) => (name === 'now' ? () => target.now() + shiftMs : Reflect.get(target, name)),
});

process.on('message', (message) => {
  shiftMs = message.shiftMs;
  process.send?.({ now: Date.now() });
});
// Listening must not keep the service from ending.
process.channel?.unref();
