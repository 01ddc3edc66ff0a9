// "As curl" and "as TypeScript" of the call behind what is shown.

import { Code } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../api/session.tsx'
import { asCurl, asTypeScript } from '../api/snippets.ts'
import type { CallRequest } from '../api/use-call.ts'
import { IconButton } from './button.tsx'
import { CodeBlock } from './code.tsx'
import { Dialog } from './dialog.tsx'
import css from './menu.module.css'

export function RequestMenu({ request }: { readonly request: CallRequest }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <IconButton label="The call behind this" icon={Code} onClick={() => setOpen(true)} />
      <Dialog wide title={request.operation.id} open={open} onClose={() => setOpen(false)}>
        <Snippets request={request} />
      </Dialog>
    </>
  )
}

function Snippets({ request }: { readonly request: CallRequest }) {
  const { caller } = useSession()
  const { origin } = location
  return (
    <div className={css['snippets']}>
      <h3>As curl</h3>
      <CodeBlock text={asCurl(request, origin, caller.mode !== 'local')} label="curl" />
      <h3>As TypeScript</h3>
      <CodeBlock text={asTypeScript(request, origin)} label="TypeScript" />
    </div>
  )
}
