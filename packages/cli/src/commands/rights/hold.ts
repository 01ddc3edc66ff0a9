// custos hold: legal holds on a store of a running service.

import type { Hold, ReplyOf, retention } from '@custos/contract'
import { type Command, UsageError } from '../../command.ts'
import { formatTable } from '../../output.ts'
import { CLIENT_HELP } from '../../service-client.ts'
import { CONFIRM_OPTIONS, confirm, defineVerb, runVerb } from '../../verbs.ts'

export const hold: Command = {
  usage: 'place STORE --reason TEXT | list STORE | release STORE HOLD_ID [options]',
  help: `  place    nothing of the store is erased while the hold is in force
  list     list the holds of the store, newest first
  release  end a hold; asks on a terminal first

  --reason TEXT  why the hold is placed or released
  --matter TEXT  the legal matter (place)
  --until TIME   end of the hold (place; default: until it is released)
  --standing     only holds that are in force (list)
  --yes          do not ask (release)
${CLIENT_HELP}`,
  run: (args) => runVerb(args, { place, list, release }),
}

const pathOf = (store = '') => `/v1/stores/${encodeURIComponent(store)}/holds`

const PLACE_OPTIONS = {
  reason: { type: 'string' },
  matter: { type: 'string' },
  until: { type: 'string' },
} as const

const place = defineVerb(PLACE_OPTIONS, ['STORE'], async (client, { values, positionals }) => {
  const { reason, matter, until } = values
  if (reason === undefined) throw new UsageError('say why the hold is placed: --reason TEXT')
  const placed = await client.json<ReplyOf<typeof retention.place_hold> & Hold>(
    pathOf(positionals[0]),
    { method: 'POST', json: { reason, matter, until } },
  )
  console.log(`hold ${placed.hold_id} on ${placed.store_id}, until ${placed.until ?? 'released'}`)
  if (placed.already_erasing > 0)
    console.log(`${placed.already_erasing} memories cannot be kept: their erasure had begun`)
})

const LIST_OPTIONS = { standing: { type: 'boolean' } } as const

const list = defineVerb(LIST_OPTIONS, ['STORE'], async (client, { values, positionals }) => {
  const query = values.standing ? '&standing=true' : ''
  const rows: string[][] = []
  for (let cursor = ''; ; ) {
    const path = `${pathOf(positionals[0])}?limit=1000${query}${cursor}`
    const page = await client.json<ReplyOf<typeof retention.holds>>(path)
    for (const one of page.holds) rows.push(rowOf(one))
    if (page.next_cursor === null) break
    cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`
  }
  console.log(formatTable([['hold', 'placed', 'in force', 'until', 'matter', 'reason'], ...rows]))
})

const rowOf = ({ hold_id, placed_at, standing, until, released_at, matter, reason }: Hold) => [
  hold_id,
  placed_at,
  standing ? 'yes' : 'no',
  released_at ?? until ?? 'released',
  matter ?? '',
  reason,
]

const RELEASE_OPTIONS = { ...CONFIRM_OPTIONS, reason: { type: 'string' } } as const

const release = defineVerb(
  RELEASE_OPTIONS,
  ['STORE', 'HOLD_ID'],
  async (client, { values, positionals: [store = '', hold_id = ''] }) => {
    await confirm(`Release the hold ${hold_id} on ${store}? Its memories can be erased`, values.yes)
    const path = `${pathOf(store)}/${encodeURIComponent(hold_id)}`
    const json = { reason: values.reason }
    const released = await client.json<Hold>(path, { method: 'DELETE', json })
    console.log(`hold ${released.hold_id} on ${store} released at ${released.released_at}`)
  },
)
