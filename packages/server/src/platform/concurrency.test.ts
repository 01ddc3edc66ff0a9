// Retries take their own conflicts only, queues keep their order, a semaphore its number; what a
// thread cannot answer is refused.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Conflict, keyedQueue, retryOnConflict, semaphore, shareCalls } from './concurrency.ts'
import { Refusal } from './refusal.ts'
import { WorkerRequests } from './worker-requests.ts'

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 2))

describe('retryOnConflict', () => {
  const options = { on: 'store', attempts: 3, message: 'the store keeps changing' } as const

  test('runs again until there is no conflict, and returns the result', async () => {
    let runs = 0
    const result = await retryOnConflict(async () => {
      runs += 1
      if (runs < 3) throw new Conflict('store')
      return 'done'
    }, options)
    assert.deepEqual([result, runs], ['done', 3])
  })

  test('refuses unavailable after the last attempt, and says when to come back', async () => {
    let runs = 0
    const act = async () => {
      runs += 1
      throw new Conflict('store')
    }
    await assert.rejects(retryOnConflict(act, options), (error) => {
      assert(error instanceof Refusal)
      assert.equal(error.code, 'unavailable')
      assert.equal(error.message, 'the store keeps changing')
      assert.equal(error.extras.retry_after_s, 1)
      return true
    })
    assert.equal(runs, 3)
  })

  test('a conflict over something else is left to the retry around it', async () => {
    let [outer, inner] = [0, 0]
    const result = await retryOnConflict(() => {
      outer += 1
      const act = async () => {
        inner += 1
        if (outer === 1) throw new Conflict('store')
        return 'done'
      }
      return retryOnConflict(act, { on: 'idempotency_key', attempts: 5 })
    }, options)
    assert.deepEqual([result, outer, inner], ['done', 2, 2])
  })

  test('other errors end it at once', async () => {
    let runs = 0
    const act = async () => {
      runs += 1
      throw new TypeError('a bug')
    }
    await assert.rejects(retryOnConflict(act, { ...options, pause_ms: 1 }), TypeError)
    assert.equal(runs, 1)
  })
})

describe('keyedQueue', () => {
  test('work of one key never overlaps and keeps its order, failures included', async () => {
    const queue = keyedQueue()
    const seen: string[] = []
    const work = (name: string, fails: boolean) =>
      queue.run('key', async () => {
        seen.push(`${name} begins`)
        await pause()
        seen.push(`${name} ends`)
        if (fails) throw new Error(name)
        return name
      })
    const results = await Promise.allSettled([work('a', false), work('b', true), work('c', false)])
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    )
    assert.deepEqual(
      seen,
      ['a', 'b', 'c'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
  })

  test('keys do not wait for each other, and idle waits for all of them', async () => {
    const queue = keyedQueue()
    const { promise, resolve } = Promise.withResolvers<void>()
    let ended = false
    const slow = queue.run('a', async () => {
      await promise
      ended = true
      throw new Error('its caller learns of it')
    })
    const slowFails = assert.rejects(slow)
    assert.equal(await queue.run('b', async () => 'done'), 'done')
    const idle = queue.idle()
    assert.equal(ended, false)
    resolve()
    await idle
    assert.equal(ended, true)
    await slowFails
  })
})

test('a semaphore admits one caller a permit, the others in order of arrival', async () => {
  const permits = semaphore(2)
  const begun: number[] = []
  let [running, most] = [0, 0]
  const act = (n: number) => async () => {
    begun.push(n)
    running += 1
    most = Math.max(most, running)
    await pause()
    running -= 1
    if (n === 1) throw new Error('its permit is free again all the same')
  }
  await Promise.allSettled([0, 1, 2, 3, 4].map((n) => permits.run(act(n))))
  assert.deepEqual([begun, most], [[0, 1, 2, 3, 4], 2])
})

describe('shareCalls', () => {
  test('calls of one iteration share a run that begins after them; later ones do not', async () => {
    const runs: string[] = []
    const call = shareCalls(async (key: string) => runs.push(key))
    const first = [call('a'), call('b'), call('a')]
    assert.deepEqual(runs, [])
    assert.deepEqual(await Promise.all(first), [1, 2, 1])
    // While a run is under way a call is for the next one.
    const again = call('a')
    assert.deepEqual([await again, runs], [3, ['a', 'b', 'a']])
  })

  test('a failure is that of all who share it, and of no other', async () => {
    let isBroken = true
    const call = shareCalls(async (key: string) => {
      if (isBroken) throw new Error(key)
      return key
    })
    const failed = await Promise.allSettled([call('a'), call('a')])
    assert.deepEqual(
      failed.map(({ status }) => status),
      ['rejected', 'rejected'],
    )
    isBroken = false
    assert.equal(await call('a'), 'a')
  })
})

describe('WorkerRequests', () => {
  const unavailable = { code: 'unavailable' }
  const runs = (code: string) =>
    new WorkerRequests<unknown, unknown>(new URL(`data:text/javascript,${code}`))

  test('a thread that cannot start is refused, and so is one that ends', async () => {
    const none = new WorkerRequests<unknown, unknown>(new URL('http://127.0.0.1/none.js'))
    const asked = none.ask(1)
    await assert.rejects(asked, unavailable)
    await assert.rejects(runs('process.exit()').ask(1), unavailable)
    await assert.rejects(runs('throw new Error()').ask(1), unavailable)
  })

  test('a request that cannot be sent leaves nothing for the end of the thread', async () => {
    const ends = runs('process.exit()')
    await assert.rejects(
      ends.ask(() => {}),
      { name: 'DataCloneError' },
    )
    await assert.rejects(ends.ask(1), unavailable)
  })

  test('after a failure no thread is left that keeps the process alive', async () => {
    const source = `import { parentPort } from 'node:worker_threads'
      parentPort.on('message', ([number, act]) => {
        if (act === 'fail') throw new Error()
        parentPort.postMessage([number, act])
      })`
    const requests = runs(encodeURIComponent(source))
    await assert.rejects(requests.ask('fail'), unavailable)
    assert.equal(await requests.ask('answer'), 'answer')
    await requests.close()
  })
})
