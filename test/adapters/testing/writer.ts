// One of two processes that put items at once: `writer.ts URL KEY NAME PUTS`.

import { CustosStore } from '@custos/adapters/langgraph'
import { Custos, isRefusal } from '@custos/client'

const AT_ONCE = 8

const [url = '', apiKey = '', name = '', count = '0'] = process.argv.slice(2)
const client = new Custos({ url, apiKey })
const store = new CustosStore({ client })
let conflicts = 0

/** Adds one to a number that the other process adds to as well. */
async function increment(): Promise<void> {
  for (;;) {
    const name = { namespace: ['counts'], key: 'all' }
    const { item } = await client.items.get('default', name)
    if (!item) throw new Error('the count is gone')
    const value = { n: Number(item.value['n']) + 1 }
    try {
      await client.items.put('default', { ...name, value, if_ref: item.ref })
      return
    } catch (error) {
      if (!isRefusal(error, 'item_changed')) throw error
      conflicts += 1
    }
  }
}

const steps = Array.from({ length: Number(count) }, (_, n) => async () => {
  await store.put(['shared'], 'one', { name, n })
  await store.put(['each'], `${name} ${n}`, { name, n })
  if (n % 10 < 2) await increment()
})
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    for (let step = steps.shift(); step; step = steps.shift()) await step()
  }),
)
console.log(JSON.stringify({ conflicts }))
