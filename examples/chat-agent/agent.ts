// A chat agent that remembers across restarts: `node agent.ts "I am allergic to nuts"`.

import { custosMemory } from '@custos/adapters/ai'
import { Custos } from '@custos/client'
import { generateText, wrapLanguageModel } from 'ai'
import { readSettings } from '../settings.ts'
import { recallingModel } from './recalling-model.ts'

const client = new Custos(readSettings())
const middleware = custosMemory({ client, remember: ({ query }) => [query], failClosed: true })
const model = wrapLanguageModel({ model: recallingModel, middleware })
const { text } = await generateText({ model, prompt: process.argv[2] ?? 'Hello' })
console.log(text)
