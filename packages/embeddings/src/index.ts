// The package's face: the bundled embedding model, and what it is made of.
export { DIMENSIONS, loadModel, MODEL, parseBundled, VERSION } from './bundled.ts'
export { StaticModel } from './static-model.ts'
export { Tokenizer } from './tokenizer.ts'
