// Loaded before the service: it does not outlive the tests that started it, however they end.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
// Listening must not keep it from ending by itself.
process.channel?.unref();
