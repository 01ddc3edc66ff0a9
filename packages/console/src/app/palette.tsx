// The palette: go to a screen, a store, or anything by its id.

import { Dialog } from '@base-ui/react/dialog'
import { useNavigate } from '@tanstack/react-router'
import { useId, useState } from 'react'
import { useSession } from '../api/session.tsx'
import { useStoreId } from '../api/store-id.ts'
import css from './palette.module.css'
import { isVisible, SCREENS } from './screens.ts'

interface Destination {
  readonly label: string
  readonly to: string
  readonly params: Readonly<Record<string, string>>
}

/** Pages of one record, with the name of their id in the address. */
const BY_ID = [
  { path: '/stores/$storeId/memories/$ref', param: 'ref', label: 'Memory', pattern: /^\d+$/ },
  { path: '/log/$seq', param: 'seq', label: 'Log entry', pattern: /^\d+$/ },
  { path: '/decisions/$decisionId', param: 'decisionId', label: 'Decision', pattern: /^\S{8,}$/ },
  {
    path: '/erasure/$certificateId',
    param: 'certificateId',
    label: 'Certificate',
    pattern: /^\S{8,}$/,
  },
  {
    path: '/approvals/$requestId',
    param: 'requestId',
    label: 'Approval request',
    pattern: /^\S{8,}$/,
  },
  {
    path: '/subjects/$requestId',
    param: 'requestId',
    label: 'Subject request',
    pattern: /^\S{8,}$/,
  },
  { path: '/runs/$runId', param: 'runId', label: 'Run', pattern: /^[0-9a-f]{32}$/ },
  { path: '/agents/$agentId', param: 'agentId', label: 'Agent', pattern: /^[0-9a-f]{32}$/ },
  { path: '/evidence/$reportId', param: 'reportId', label: 'Report', pattern: /^[0-9a-f]{32}$/ },
  {
    path: '/webhooks/$webhookId',
    param: 'webhookId',
    label: 'Endpoint',
    pattern: /^[0-9a-f]{24}$/,
  },
  { path: '/stores/$storeId', param: 'storeId', label: 'Store', pattern: /^\S+$/ },
] as const

function useDestinations(text: string): readonly Destination[] {
  const session = useSession()
  const storeId = useStoreId()
  const built = new Set(SCREENS.filter(({ load }) => load).map(({ path }) => path))
  const screens = SCREENS.filter((screen) => screen.group && isVisible(screen, session)).map(
    ({ path, title }) => ({
      label: title,
      to: path,
      params: { storeId, registry: 'artifacts' },
    }),
  )
  const typed = text.trim()
  const named = screens.filter(({ label }) => label.toLowerCase().includes(typed.toLowerCase()))
  if (typed === '') return named
  const records = BY_ID.filter(({ path, pattern }) => built.has(path) && pattern.test(typed))
  return [
    ...named,
    ...records.map(({ path, param, label }) => ({
      label: `${label} ${typed}`,
      to: path,
      params: { storeId, [param]: typed },
    })),
  ]
}

export function Palette(props: {
  readonly open: boolean
  readonly onOpenChange: (open: boolean) => void
}) {
  const { open, onOpenChange } = props
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className={css['backdrop']} />
        <Dialog.Popup className={css['popup']}>
          <Dialog.Title className="visually-hidden">Go to</Dialog.Title>
          <PaletteBody close={() => onOpenChange(false)} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function PaletteBody({ close }: { readonly close: () => void }) {
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const listId = useId()
  const navigate = useNavigate()
  const all = useDestinations(text)
  const index = Math.min(at, Math.max(0, all.length - 1))
  const go = (destination: Destination | undefined) => {
    if (!destination) return
    close()
    void navigate({ to: destination.to, params: destination.params, search: {} })
  }
  const moves: Readonly<Record<string, () => void>> = {
    ArrowDown: () => setAt(Math.min(index + 1, all.length - 1)),
    ArrowUp: () => setAt(Math.max(index - 1, 0)),
    Enter: () => go(all[index]),
  }
  return (
    <>
      <input
        className={css['input']}
        role="combobox"
        aria-label="Screen, store or id"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={all.length > 0 ? `${listId}-${index}` : undefined}
        placeholder="Screen, store, memory, decision, certificate, request…"
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
        onKeyDown={(event) => {
          const move = moves[event.key]
          if (!move) return
          event.preventDefault()
          move()
        }}
      />
      <div
        id={listId}
        role="listbox"
        aria-label="Destinations"
        className={css['list']}
        tabIndex={-1}
      >
        {all.map((destination, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input has the keys
          // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
          <div
            key={`${destination.to} ${destination.label}`}
            id={`${listId}-${i}`}
            role="option"
            aria-selected={i === index}
            onClick={() => go(destination)}
          >
            {destination.label}
          </div>
        ))}
      </div>
    </>
  )
}
