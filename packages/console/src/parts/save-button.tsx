// Saves data of the service as a file on the user's machine, and shows the button that does so.

import type { FileReply, Lines } from '@custos/client'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { Button } from './button.tsx'
import { ErrorState } from './states.tsx'

export function saveBlob(blob: Blob, filename: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = filename
  link.click()
  URL.revokeObjectURL(url)
}

/** Saves a streamed answer as NDJSON. */
export async function saveLines(lines: Lines<unknown>, filename: string): Promise<void> {
  const parts: string[] = []
  for await (const line of lines) parts.push(`${JSON.stringify(line)}\n`)
  saveBlob(new Blob(parts, { type: 'application/x-ndjson' }), filename)
}

export interface SavedFile {
  readonly blob: Blob
  readonly filename: string
}

/** A JSON document as a file. */
export const jsonFile = (value: unknown, filename: string): SavedFile => ({
  blob: new Blob([JSON.stringify(value, null, 2)], { type: 'application/json' }),
  filename,
})

/** The file in an operation's reply, for a `format` that returns a file. */
export function fileOf(reply: unknown, filename: string): SavedFile {
  // The caller has requested a `format` for which the operation returns a FileReply.
  return { blob: (reply as FileReply).blob(), filename }
}

export function SaveButton(props: {
  readonly label: string
  readonly kind?: 'plain' | 'primary'
  readonly load: () => Promise<SavedFile>
}) {
  const { label, kind = 'plain', load } = props
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<unknown>(null)
  const save = async () => {
    setBusy(true)
    setError(null)
    try {
      const { blob, filename } = await load()
      saveBlob(blob, filename)
    } catch (caught) {
      setError(caught)
    }
    setBusy(false)
  }
  return (
    <>
      <Button icon={Download} kind={kind} busy={busy} onClick={() => void save()}>
        {label}
      </Button>
      {error !== null && <ErrorState error={error} />}
    </>
  )
}
