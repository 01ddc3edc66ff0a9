// Requests without their members are answered as invalid, as JSON-RPC asks.

import {
  type JSONRPCMessage,
  type McpServer,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server'

/**
 * The protocol library answers `initialize` and others with an internal error, and the list of
 * problems as its message, where `params` are not those of the method. Answers that say so leave
 * with the code of invalid parameters and the problems in words.
 */
export function answerInvalidParams(server: McpServer): void {
  const connect = server.connect.bind(server)
  server.connect = (transport) => {
    const send = transport.send.bind(transport)
    transport.send = (message, options) => send(toInvalidParams(message), options)
    return connect(transport)
  }
}

function toInvalidParams(message: JSONRPCMessage): JSONRPCMessage {
  if (!('error' in message) || message.error.code !== ProtocolErrorCode.InternalError)
    return message
  const problems = readProblems(message.error.message)
  if (problems === undefined) return message
  const error = { code: ProtocolErrorCode.InvalidParams, message: `Invalid params: ${problems}` }
  return { ...message, error }
}

/** Undefined: the text is no list of problems of `params`. */
function readProblems(text: string): string | undefined {
  let listed: unknown
  try {
    listed = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!Array.isArray(listed) || listed.length === 0) return undefined
  const problems = listed.map(Object)
  if (!problems.every(({ path }) => Array.isArray(path) && path[0] === 'params')) return undefined
  return problems.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ')
}
