// Makes node:test tell by an AsyncLocalStorage which test code belongs to. By itself it follows
// every promise of the process, a tenth to a quarter of the time of tests with a service.
//
// To be loaded before anything that imports node:test is linked.

import asyncHooks, { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'

/** The runner's own: it adds a test to those it knows by their async id. */
type Init = NonNullable<asyncHooks.HookCallbacks['init']>

/** Async id of the innermost test, suite or hook that the code belongs to. */
const running = new AsyncLocalStorage<number>()
const TESTS = ['Test', 'Suite', 'TestHook']

let add: Init = () => {}
const { createHook, executionAsyncId } = asyncHooks

Object.assign(asyncHooks, {
  createHook({ init = add }: asyncHooks.HookCallbacks) {
    add = init
    return { enable() {}, disable() {} }
  },
  executionAsyncId: () => running.getStore() ?? executionAsyncId(),
})
// The runner takes both functions while it is loaded.
process.getBuiltinModule('node:test')
Object.assign(asyncHooks, { createHook, executionAsyncId })

type Run = (this: unknown, ...given: unknown[]) => unknown
type Scope = (this: AsyncResource, run: Run, ...call: unknown[]) => unknown

const { runInAsyncScope }: { runInAsyncScope: Scope } = AsyncResource.prototype
const runInTest: Scope = function (run, ...call) {
  const kind = this.constructor.name
  if (!TESTS.includes(kind)) return runInAsyncScope.call(this, run, ...call)
  const id = this.asyncId()
  add(id, kind, 0, this)
  // Inside: the scope brings the storage of where the test was declared.
  const within: Run = function (...given) {
    return running.run(id, () => run.apply(this, given))
  }
  return runInAsyncScope.call(this, within, ...call)
}
Object.assign(AsyncResource.prototype, { runInAsyncScope: runInTest })
