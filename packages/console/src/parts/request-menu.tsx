// "As curl" and "as TypeScript" of the call behind what is shown.

import { Code } from 'lucide-react'
import { useState } from 'react'
import { useSession } from '../api/session.tsx'
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

/** The request that a call sends. */
function requestOf({ operation, args }: CallRequest): {
  readonly method: string
  readonly path: string
  readonly body: unknown
} {
  const rest = [...args]
  const path = operation.path.replace(/\{\w+\}/g, () => encodeURIComponent(String(rest.shift())))
  const { takes, method } = operation
  const body = takes === 'body' || takes === 'both' ? rest.shift() : undefined
  const query = takes === 'query' || takes === 'both' ? rest.shift() : undefined
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== null) search.set(name, String(value))
  const asked = search.size > 0 ? `${path}?${search}` : path
  return { method, path: asked, body }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The request as a curl command. It refers to the credential and never contains it. */
function asCurl(request: CallRequest, origin: string, credential: boolean): string {
  const { method, path, body } = requestOf(request)
  const lines = [`curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(`${origin}${path}`)}`]
  if (credential) lines.push('-H "authorization: Bearer $CUSTOS_API_KEY"')
  if (body !== undefined)
    lines.push("-H 'content-type: application/json'", `-d ${quoted(JSON.stringify(body))}`)
  return lines.join(' \\\n  ')
}

const camel = (text: string): string => text.replace(/_(\w)/g, (_, c: string) => c.toUpperCase())

/** The call with the typed client. */
function asTypeScript({ operation, args }: CallRequest, origin: string): string {
  const [group = '', verb = ''] = operation.id.split('.')
  const given = [...args]
  while (given.length > 0 && given.at(-1) === undefined) given.pop()
  const list = given.map((arg) => JSON.stringify(arg, null, 2) ?? 'undefined').join(', ')
  return [
    "import { Custos } from '@custos/client'",
    '',
    `const custos = new Custos({ url: '${origin}', apiKey: process.env.CUSTOS_API_KEY })`,
    `const answer = await custos.${camel(group)}.${camel(verb)}(${list})`,
  ].join('\n')
}
