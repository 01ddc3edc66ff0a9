// "As curl" and "as TypeScript" of the call behind what is shown.

import { Menu } from '@base-ui/react/menu'
import { Code } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../api/session.tsx'
import { asCurl, asTypeScript } from '../api/snippets.ts'
import type { CallRequest } from '../api/use-call.ts'
import { CodeBlock } from './code.tsx'
import { Dialog } from './dialog.tsx'
import css from './menu.module.css'

const FORMS = ['curl', 'TypeScript'] as const
type SnippetForm = (typeof FORMS)[number]

export function RequestMenu({ request }: { readonly request: CallRequest }) {
  const [form, setForm] = useState<SnippetForm | null>(null)
  return (
    <>
      <Menu.Root>
        <Menu.Trigger className={css['trigger']} aria-label="The call behind this" title="API call">
          <Code size={16} aria-hidden />
        </Menu.Trigger>
        <Menu.Portal>
          <Menu.Positioner className={css['positioner']} sideOffset={4} align="end">
            <Menu.Popup className={css['popup']}>
              {FORMS.map((one) => (
                <Menu.Item key={one} className={css['item']} onClick={() => setForm(one)}>
                  As {one}
                </Menu.Item>
              ))}
            </Menu.Popup>
          </Menu.Positioner>
        </Menu.Portal>
      </Menu.Root>
      <Dialog
        wide
        title={`${request.operation.id} as ${form}`}
        open={form !== null}
        onClose={() => setForm(null)}
      >
        <Snippet request={request} form={form ?? 'curl'} />
      </Dialog>
    </>
  )
}

function Snippet({ request, form }: { readonly request: CallRequest; readonly form: SnippetForm }) {
  const { caller } = useSession()
  const { origin } = location
  const text =
    form === 'curl'
      ? asCurl(request, origin, caller.mode !== 'local')
      : asTypeScript(request, origin)
  return <CodeBlock text={text} label={form} />
}
