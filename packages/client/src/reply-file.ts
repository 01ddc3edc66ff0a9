// Answers that are files: reports, certificates and manifests as documents.

import { Pending } from './call-result.ts'
import { type Exchange, requireHeader } from './exchange.ts'

/** A file that the service answered with. */
export interface FileReply {
  readonly filename: string
  /** Its media type. */
  readonly type: string
  bytes(): Uint8Array
  text(): string
  blob(): Blob
}

export const file = (exchange: Exchange): Pending<FileReply> =>
  new Pending(
    exchange.run(async (response) => {
      requireHeader(response, 'content-disposition', /filename/, exchange.client.url)
      return fileOf(response, await response.arrayBuffer())
    }, true),
  )

function fileOf({ headers }: Response, buffer: ArrayBuffer): FileReply {
  const type = headers.get('content-type') ?? 'application/octet-stream'
  const named = /filename="([^"]*)"/.exec(headers.get('content-disposition') ?? '')
  return {
    filename: named?.[1] ?? 'download',
    type,
    bytes: () => new Uint8Array(buffer),
    text: () => new TextDecoder().decode(buffer),
    blob: () => new Blob([buffer], { type }),
  }
}
