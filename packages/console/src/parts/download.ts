// Saves data from the service as a file on the user's machine.

import type { Lines } from '@custos/client'

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
