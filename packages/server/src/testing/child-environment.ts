// What a process that a test starts has of the test's environment: no setting of the service.

const INHERITED = ['PATH', 'TMPDIR', 'NODE_COMPILE_CACHE']

/** Without NODE_COMPILE_CACHE a start compiles some 800 modules. */
export const childEnvironment = (): Record<string, string | undefined> =>
  Object.fromEntries(INHERITED.map((name) => [name, process.env[name]]))
