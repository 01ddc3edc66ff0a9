// Loaded into a process before its own code: its clocks show another time, and go on from there.

const shift_ms = Number(process.env['TEST_CLOCK_SHIFT_MS'] ?? '0')
const realNow = Date.now
const shiftedNow = (): number => realNow() + shift_ms

if (shift_ms !== 0) {
  globalThis.Date = new Proxy(Date, {
    construct: (target, given, called) =>
      Reflect.construct(target, given.length === 0 ? [shiftedNow()] : given, called),
  })
  Date.now = shiftedNow
  const value = performance.timeOrigin + shift_ms
  Object.defineProperty(performance, 'timeOrigin', { value, configurable: true })
}
