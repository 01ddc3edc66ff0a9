// A LangGraph agent that remembers across threads and restarts: `node agent.ts "I like tea"`.

import { randomUUID } from 'node:crypto'
import { CustosStore, itemsAsData } from '@custos/adapters/langgraph'
import { Custos } from '@custos/client'
import { HumanMessage, SystemMessage } from '@langchain/core/messages'
import {
  type LangGraphRunnableConfig,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import { readSettings } from '../settings.ts'
import { RecallingModel } from './recalling-model.ts'

const model = new RecallingModel({})
const namespace = ['users', 'ana']

async function answer(
  { messages }: typeof MessagesAnnotation.State,
  { store }: LangGraphRunnableConfig,
) {
  const said = messages.at(-1)?.text ?? ''
  const found = (await store?.search(namespace, { query: said })) ?? []
  const reply = await model.invoke([new SystemMessage(itemsAsData(found)), ...messages])
  await store?.put(namespace, randomUUID(), { said })
  return { messages: [reply] }
}

const store = new CustosStore({ client: new Custos(readSettings()) })
const graph = new StateGraph(MessagesAnnotation)
  .addNode('answer', answer)
  .addEdge(START, 'answer')
  .compile({ store })

const { messages } = await graph.invoke({
  messages: [new HumanMessage(process.argv[2] ?? 'Hello')],
})
console.log(messages.at(-1)?.text)
