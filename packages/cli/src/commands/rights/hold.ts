// custos hold: legal holds on a store of a running service.

import type { Hold } from '@custos/contract'
import { CLIENT_HELP, setMembers } from '../../client-calls.ts'
import { type Command, UsageError } from '../../command.ts'
import { formatTable } from '../../output.ts'
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

const PLACE_OPTIONS = {
  reason: { type: 'string' },
  matter: { type: 'string' },
  until: { type: 'string' },
} as const

const place = defineVerb(PLACE_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const { reason, matter, until } = values
  if (reason === undefined) throw new UsageError('say why the hold is placed: --reason TEXT')
  const placed = await custos.retention.placeHold(positionals[0] ?? '', {
    reason,
    ...setMembers({ matter, until }),
  })
  console.log(`hold ${placed.hold_id} on ${placed.store_id}, until ${placed.until ?? 'released'}`)
  if (placed.already_erasing > 0)
    console.log(`${placed.already_erasing} memories cannot be kept: their erasure had begun`)
})

const LIST_OPTIONS = { standing: { type: 'boolean' } } as const

const list = defineVerb(LIST_OPTIONS, ['STORE'], async (custos, { values, positionals }) => {
  const query = { limit: 1000, ...setMembers({ standing: values.standing }) }
  const rows: string[][] = []
  for await (const one of custos.retention.holds.all(positionals[0] ?? '', query))
    rows.push(rowOf(one))
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
  async (custos, { values, positionals: [store = '', hold_id = ''] }) => {
    await confirm(`Release the hold ${hold_id} on ${store}? Its memories can be erased`, values.yes)
    const body = setMembers({ reason: values.reason })
    const released = await custos.retention.releaseHold(store, hold_id, body)
    console.log(`hold ${released.hold_id} on ${store} released at ${released.released_at}`)
  },
)
