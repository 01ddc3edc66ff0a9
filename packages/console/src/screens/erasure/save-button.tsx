// A button that fetches a document and saves it as a file on the user's machine.

import type { FileReply } from '@custos/client'
import { Download } from 'lucide-react'
import { useState } from 'react'
import { Button } from '../../parts/button.tsx'
import { saveBlob } from '../../parts/download.ts'
import { ErrorState } from '../../parts/states.tsx'

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
  // The format of the query decides what the operation returns.
  return { blob: (reply as FileReply).blob(), filename }
}

export function SaveButton({
  label,
  kind = 'plain',
  load,
}: {
  readonly label: string
  readonly kind?: 'plain' | 'primary'
  readonly load: () => Promise<SavedFile>
}) {
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
