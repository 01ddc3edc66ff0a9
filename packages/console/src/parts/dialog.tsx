// Dialogs: a plain one, and one that confirms irreversible actions.

import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { Button } from './button.tsx'
import css from './dialog.module.css'
import { Form, TextField } from './form.tsx'
import { ErrorState } from './states.tsx'

export function Dialog(props: {
  readonly title: string
  readonly open: boolean
  readonly onClose: () => void
  readonly wide?: boolean
  readonly children: ReactNode
}) {
  const { title, open, onClose, wide, children } = props
  return (
    <Base.Root open={open} onOpenChange={(next) => next || onClose()}>
      <Base.Portal>
        <Base.Backdrop className={css['backdrop']} />
        <Base.Popup className={css['popup']} data-wide={wide || undefined}>
          <div className={css['head']}>
            <Base.Title>{title}</Base.Title>
            <Base.Close className={css['close']} aria-label="Close">
              <X size={16} aria-hidden />
            </Base.Close>
          </div>
          <div className={css['body']}>{children}</div>
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface ConfirmProps {
  readonly title: string
  readonly open: boolean
  readonly onClose: () => void
  /** The verb of the button: "Revoke". */
  readonly verb: string
  /** A word that must be typed first, if a mistake would be costly. */
  readonly typed?: string
  readonly act: () => Promise<unknown>
  /** Describes what will happen. */
  readonly children: ReactNode
}

/** Confirms an irreversible action, and shows its refusal in the dialog. */
export function ConfirmDialog({ typed, verb, act, children, ...rest }: ConfirmProps) {
  return (
    <Dialog {...rest}>
      <ConfirmBody typed={typed} verb={verb} act={act} onClose={rest.onClose}>
        {children}
      </ConfirmBody>
    </Dialog>
  )
}

function ConfirmBody(
  props: Omit<ConfirmProps, 'title' | 'open' | 'typed'> & { readonly typed: string | undefined },
) {
  const { typed, verb, act, onClose, children } = props
  const [text, setText] = useState('')
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const run = async () => {
    setBusy(true)
    setError(null)
    try {
      await act()
      onClose()
    } catch (caught) {
      setError(caught)
      setBusy(false)
    }
  }
  return (
    <Form onSubmit={run}>
      <div>{children}</div>
      {typed !== undefined && (
        <TextField
          label={`Type ${typed} to confirm`}
          autoComplete="off"
          value={text}
          onChange={setText}
        />
      )}
      {error !== null && <ErrorState error={error} />}
      <div className={css['buttons']}>
        <Button onClick={onClose}>Cancel</Button>
        <Button
          type="submit"
          kind="danger"
          busy={busy}
          disabled={typed !== undefined && text !== typed}
        >
          {verb}
        </Button>
      </div>
    </Form>
  )
}
