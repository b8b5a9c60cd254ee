package look

import "strings"

// units are the words of numbers that add up; those of hundreds and more multiply what stands before them.
var units = map[string]int64{"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
	"thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
	"sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}

// numberWord is what a word adds to a number, or by how much it multiplies it; both are 0 for any other word.
func numberWord(w string) (add, times int64) {
	if w == "hundred" {
		return 0, 100
	}
	if m := multiplier(w); m > 1 && len(w) > 3 { // not the letters k and m
		return 0, m
	}
	return units[w], 0
}

// spelled finds amounts in English words ("five thousand dollars"); with all, also those without a currency.
func spelled(text string, all bool) (list []number) {
	var total, part int64 // part: what is not yet multiplied by a thousand or more
	start, end := -1, 0
	flush := func(signed bool, to int) {
		if start >= 0 && (signed || all) {
			list = append(list, number{text: text[start:to], hundredths: times(min(total+part, mostHundredths), 100)})
		}
		total, part, start = 0, 0, -1
	}
	for i := 0; i < len(text); {
		if !letter(text[i]) {
			if start >= 0 && strings.IndexByte(" -\n", text[i]) < 0 {
				flush(false, end)
			}
			i++
			continue
		}
		from := i
		for i < len(text) && letter(text[i]) {
			i++
		}
		if i-from > 12 {
			flush(false, end)
			continue
		}
		w := strings.ToLower(text[from:i])
		add, mul := numberWord(w)
		switch {
		case add > 0:
			part += add
		case mul == 100 && start >= 0:
			part = times(max(part, 1), 100)
		case mul > 100 && start >= 0:
			total, part = min(total+times(max(part, 1), mul), mostHundredths), 0
		case start >= 0 && w == "and":
			continue
		default:
			flush(start >= 0 && currency(w), i)
			if mul > 0 { // "a hundred dollars"
				part, start, end = mul, from, i
			}
			continue
		}
		if start < 0 {
			start = from
		}
		end, part = i, min(part, mostHundredths)
	}
	flush(false, end)
	return list
}
