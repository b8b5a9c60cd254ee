package look

import "strings"

// numberWord is the value of a number's word: what it adds, or by how much it multiplies what stands before it.
func numberWord(w string) (add, times int64) {
	switch w {
	case "one":
		return 1, 0
	case "two":
		return 2, 0
	case "three":
		return 3, 0
	case "four":
		return 4, 0
	case "five":
		return 5, 0
	case "six":
		return 6, 0
	case "seven":
		return 7, 0
	case "eight":
		return 8, 0
	case "nine":
		return 9, 0
	case "ten":
		return 10, 0
	case "eleven":
		return 11, 0
	case "twelve":
		return 12, 0
	case "thirteen":
		return 13, 0
	case "fourteen":
		return 14, 0
	case "fifteen":
		return 15, 0
	case "sixteen":
		return 16, 0
	case "seventeen":
		return 17, 0
	case "eighteen":
		return 18, 0
	case "nineteen":
		return 19, 0
	case "twenty":
		return 20, 0
	case "thirty":
		return 30, 0
	case "forty":
		return 40, 0
	case "fifty":
		return 50, 0
	case "sixty":
		return 60, 0
	case "seventy":
		return 70, 0
	case "eighty":
		return 80, 0
	case "ninety":
		return 90, 0
	case "hundred":
		return 0, 100
	case "k", "m", "mn", "mio":
		return 0, 0
	}
	if m := multiplier(w); m > 1 {
		return 0, m
	}
	return 0, 0
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
