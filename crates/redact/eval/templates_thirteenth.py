"""Templates of the thirteenth hold-out, written after the twelfth, and opened since."""

TEXT = [
    "Urology, {date}. {name} complains of weak stream and nocturia. Prostate enlarged, smooth. Tamsulosin was started. The patient lives at {address} and can be reached on {phone}. Review in three months by {doctor}.",
    "Rehabilitation report for {last}, born {dob}. After hip replacement on {date} the patient regained full weight bearing. Stairs with one crutch. {relative} has installed a raised toilet seat at home in {city}.",
    "Discussed with {doctor}: {first} has refused dialysis. {relative} supports this. Hospice team of {city} was contacted, {nurse} will visit on {date}.",
    "Hello {first}, thank you for your call. Your thyroid results are normal. You do not need to come to {city} for this. If anything changes ring {phone}. Best wishes, {nurse}",
    "Patient: {last}, {first}\nDOB: {dob}\nMRN: {mrn}\nAddress: {street}, {zip} {city}\nPrimary care: {doctor}\nReason for visit: shortness of breath on exertion",
    "Night report: {last} slept well. {relative} phoned at ten from {city}. Room {room} needs a new mattress. {nurse}",
    "Letter returned. {name} no longer lives at {street}, {city}. New address according to {relative}: {address}. Record {mrn} updated on {date}.",
    "This {old_age} year old was found on the floor by {relative}. No fracture. Lives alone at {street}, {city}. Social worker {nurse} to assess. SSN {ssn}.",
    "patient {name|lower} seen today for back pain works as a driver in {city|lower} pain radiates into the left leg reflexes are normal advised physiotherapy doctor {doctor_last|lower}",
    "Consent given by {relative} for {first}, who is six. Tonsillectomy on {date} by {doctor}. Anaesthetist: {nurse}. Allergies: none known. Blood group O positive.",
    "Claim {case}: {name}, {street}, {city}, injured his knee at work. Employer informed. Insurance {plan}. Payment to {account}. Contact {email}.",
    "Smoking cessation group: {first}, {relative_first} and {nurse} attended. {first} has not smoked for three weeks. Next meeting on {date} in {city}.",
    "From {doctor} to {nurse}: please repeat the sodium of {last} tomorrow. It fell to 124. {relative} says she drinks five litres a day.",
    "Implant card. Bearer: {name}. Device: {device}. Implanted {date} by {doctor}, {city}. In an emergency call {phone}.",
    "She was born in {city}, moved to {city} as a girl and married {relative}. Their son {relative_first} died in a car accident. Since then poor sleep and low mood. {doctor_last}",
    "The father, {relative}, drove {first} from {city} with the car {plate}. Temperature 39.8, stiff neck, petechiae. Ceftriaxone was given at once. Transferred under the care of {doctor}.",
]

JSON = [
    {"person": "{name}", "birth_date": "{dob}", "residence": "{address}", "diagnosis": "Migraine with aura"},
    {"log": "{nurse} visited {first} at {street}, {city}; {relative} was at home.", "phone": "{phone}"},
    {"patient": "{last}, {first}", "doctor": "{doctor}", "city": "{city}", "treatment": "Inhaled steroids"},
]
