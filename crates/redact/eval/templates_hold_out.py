"""Templates of the hold-out, written before any of its notes was generated; never tuned on."""

TEXT = [
    "Vascular clinic {date}. {name}, {dob}, of {street}, {city}: ulcer at the left ankle healed. Stockings class II. Seen by {doctor}. Next visit in May.",
    "Handwritten note from {relative}: please tell {first} that I arrived in {city} and will come on {date}.",
    "Thyroid biopsy, patient {last}, record {mrn}. Operator {doctor}. Benign follicular cells. Result given to {relative} by phone {phone}.",
    "Claim form\nClaimant: {name}\nPostal address: {address}\nMember number: {plan}\nTreatment: Root canal, tooth 36\nDentist: {doctor}",
    "{first} came with her sister {relative_first} because of palpitations. ECG normal. They live together at {street}. Beta blocker declined.",
    "Rehab transfer of {last} to {city} on {date}. Escort {nurse}. Walker and glasses packed. {relative} follows with the car, plate {plate}.",
    "Suicide watch, room {room}. {first} calm, talked with {nurse} about {relative_first}. Belt and laces removed.",
    "Allergy alert: {name} reacted to contrast in {city} in 2019. Wears a bracelet. Questions to {doctor_last}, {email}.",
    "New registration\n{name} | {dob} | {zip} {city} | {phone}\nPrevious doctor: {doctor}\nSmokes: Yes\nOperations: Appendix 1998",
    "Cooking group: {first}, {relative_first} and {nurse} baked bread. {last} burned one finger, cooled with water.",
    "Delivery failed, nobody at {address}. Driver {nurse} left the walker with {relative}. Order {case}.",
    "Court report on {name}, SSN {ssn}: fit to plead. Interviewed {date} by {doctor} in {city}. Licence {licence} suspended.",
    "Aged {old_age}, {name} lives alone in {city}. Groceries brought by {relative}. Device {device} calls for help when she falls.",
    "Leukemia follow-up. {last} in remission since {date}. Donor was the brother, {relative}, from {city}. Counts normal.",
    "Invoice copy to {email}, paid from {account}. Patient {first} {last}, {street}, {zip} {city}. Fax of receipt {fax}.",
    "Remote check of pump from {ip}; log at {url}. {name} felt nothing. {doctor_last} lowered the rate. VIN of the van {vin}.",
    "Tape 3: {relative} says that {first} can be reached on {spoken_phone}. Copy {hidden}.",
]

JSON = [
    {"client": "{name}", "residence": {"street": "{street}", "city": "{city}", "code": "{zip}"}, "advice": "Drink more, reduce salt"},
    {"shift": "Late", "staff": ["{nurse}", "{doctor}"], "events": ["{first} refused lunch", "{relative} phoned from {city}"], "room": "{room}"},
    {"to": "{relative}", "address": "{address}", "enclosed": "Report on {last}, {date}", "phone": "{phone}"},
    {"patient": {"given": "{first}", "family": "{last}"}, "guardian": "{relative}", "birthplace": "{city}", "id": "{mrn}"},
]
