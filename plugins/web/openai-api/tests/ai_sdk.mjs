// A chat as programs on Vercel's AI SDK lead it; prints one JSON object.
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { generateText, streamText } from 'ai';

const provider = createOpenAICompatible({
  name: 'hookline',
  baseURL: process.env.BASE_URL,
  apiKey: process.env.API_KEY,
  includeUsage: true,
});
const model = provider('hookline');
const messages = [{ role: 'user', content: 'say from the ai sdk' }];
const first = await generateText({ model, messages });
messages.push({ role: 'assistant', content: first.text });
messages.push({ role: 'user', content: 'list with the ai sdk' });
let text = '';
let beside = '';
const second = streamText({ model, messages });
for await (const part of second.fullStream) {
  if (part.type === 'text-delta') text += part.text;
  if (part.type === 'reasoning-delta') beside += part.text;
  if (part.type === 'error') throw part.error;
}
const session = (result) => result.headers['x-hookline-session'];
console.log(
  JSON.stringify({
    first: first.text,
    text,
    beside,
    tokens: (await second.usage).inputTokens,
    sessions: [session(first.response), session(await second.response)],
  }),
);
