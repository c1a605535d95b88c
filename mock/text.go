package mock

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// sentences are what the mock says, per language. Written for this purpose:
// plain, harmless, with the marks and characters that real answers hold.
var sentences = map[string][]string{
	"en": {
		"The first word took longer than all the others together, because the whole prompt had to be read before it.",
		"A stream is only as even as its slowest hop – and most hops say nothing about what they hold back.",
		"You’ll want to check the order number first; the warehouse keeps refunds apart from returns.",
		"In short: measure the gap between two arrivals, not between two lines in a log.",
		"The café on the corner opens at seven, closes at three and never answers the telephone.",
		"If the answer stops in the middle of a sentence, ask whether it ended or was cut off.",
		"Three things matter here: when it begins, how evenly it comes, and whether it all arrived.",
		"Please restart the router, wait for the green light, then try the same request again.",
		"That depends on the contract, the carrier and — more than people expect — on the weather.",
		"We checked the account and found two open invoices, one of them already paid in part.",
	},
	"zh": {
		"首字延迟决定了用户对速度的第一印象，后面的节奏决定他们是否愿意读下去。",
		"请先核对订单编号，再确认退款金额是否与支付记录一致。",
		"流式输出并不会缩短总耗时，它只是让文字更早出现在屏幕上。",
		"如果回答停在半句话中间，应当先判断它是结束了，还是被截断了。",
		"我们已经查询了您的账户：目前有两张未结清的发票，其中一张已部分支付。",
		"天气转凉，注意保暖；出门前记得看一眼公交车的实时到站信息。",
		"缓冲会让间隔变小，却让第一个字来得更晚，这正是中间代理的典型特征。",
		"这个问题可以分三步处理：定位、验证、修复，每一步都要留下记录。",
		"图书馆周一闭馆，周二至周日上午九点开门，晚上八点半停止入馆。",
		"建议重新启动路由器，等绿灯亮起之后，再次发送同样的请求。",
	},
}

// voice is one language's sentences cut into tokens, ready to be said.
type voice [][]string

// newVoices cuts the sentences once. English tokens are words with their
// leading space, Chinese tokens one or two characters.
func newVoices() map[string]voice {
	out := map[string]voice{}
	for lang, list := range sentences {
		for _, s := range list {
			if lang == "zh" {
				out[lang] = append(out[lang], cutHan(s))
			} else {
				out[lang] = append(out[lang], strings.SplitAfter(s+" ", " "))
			}
		}
	}
	for _, v := range out {
		for i, tokens := range v {
			if tokens[len(tokens)-1] == "" {
				v[i] = tokens[:len(tokens)-1]
			}
		}
	}
	return out
}

func cutHan(s string) []string {
	var tokens []string
	for i := 0; len(s) > 0; i++ {
		n := 0
		for range 1 + i%2 {
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		}
		tokens = append(tokens, s[:n])
		s = s[n:]
	}
	return tokens
}

// speaker says a voice's sentences in a seeded order.
type speaker struct {
	voice    voice
	rng      *rand.Rand
	sentence []string
}

// say appends the text of the next n tokens.
func (s *speaker) say(dst []byte, n int) []byte {
	for range n {
		if len(s.sentence) == 0 {
			s.sentence = s.voice[s.rng.IntN(len(s.voice))]
		}
		dst = append(dst, s.sentence[0]...)
		s.sentence = s.sentence[1:]
	}
	return dst
}

// countTokens is the mock's tokenizer for prompts: a word of other scripts or
// one Han character is a token.
func countTokens(s string) int {
	n, inWord := 0, false
	for _, r := range s {
		switch {
		case r == ' ' || r == '\n' || r == '\t' || r == '\r':
			inWord = false
		case r >= 0x2E80:
			n, inWord = n+1, false
		case !inWord:
			n, inWord = n+1, true
		}
	}
	return n
}
